// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training.h"

namespace thalweg::python {

/// Ends a run after the step, the batch of a validation or the wait for data during which Ctrl-C, or another signal
/// whose handler raises, came. Only Python's main thread can see that.
class SignalWatch : public Callback {
 public:
  void watch(Trainer& trainer) { trainer_ = &trainer; }
  void on_step(const TrainState& /*state*/) override { look(); }
  void on_wait() override { look(); }
  void on_validation_batch(const TrainState& /*state*/) override { look(); }
  /// After the run: raises what the handler raised, if it did.
  void rethrow();

 private:
  void look();

  Trainer* trainer_ = nullptr;
  std::unique_ptr<nb::python_error> failure_;
};

}  // namespace thalweg::python
