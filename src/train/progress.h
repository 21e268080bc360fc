// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status_line.h"
#include "thalweg/train.h"

namespace thalweg {

/// Tells a person how a run goes.
class ProgressPrinter : public Callback {
 public:
  ProgressPrinter(std::FILE* out, bool terminal);

  void on_step(const TrainState& state) override;
  void on_epoch(const TrainState& state) override;
  void on_checkpoint(const TrainState& state, const std::string& path) override;
  void on_end(const TrainState& state) override;
  void on_message(const std::string& text) override;

 private:
  StatusLine status_;
};

/// Null for kNone.
std::shared_ptr<Callback> make_progress_printer(ShowProgress show);

}  // namespace thalweg
