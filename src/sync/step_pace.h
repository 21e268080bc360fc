// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/train.h"

namespace thalweg::sync {

/// How long a worker computes for a step, without what it waits: the mean over so many steps, and so long, that it says
/// something about the worker and not about a moment.
class StepPace {
 public:
  static constexpr int64_t kLeastSteps = 10;
  static constexpr double kLeastSeconds = 2;

  /// After every step.
  void add(const TrainState& state);
  /// Of the last such stretch; 0 if there was none yet.
  double seconds() const { return seconds_; }

 private:
  /// Of the epoch of the data that is under way, up to the last step.
  int64_t batch_ = 0;
  double epoch_seconds_ = 0, epoch_computing_ = 0;
  /// Of the steps that no mean was taken of yet; -1: not even the first, in which much happens only once, is over.
  int64_t steps_ = -1;
  double elapsed_ = 0, computing_ = 0;
  double seconds_ = 0;
};

}  // namespace thalweg::sync
