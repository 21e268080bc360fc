// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace thalweg::optim {

/// Where a training run stands. All counts are of what has been completed.
struct Progress {
  int64_t iteration = 0;  ///< optimiser steps
  int64_t epoch = 0;
  /// 0 if unknown, as with a stream.
  int64_t iterations_per_epoch = 0;
  /// True right after the last step of an epoch.
  bool epoch_ended = false;
  /// Of the last step; NaN before there is one.
  double loss = std::numeric_limits<double>::quiet_NaN();
  /// Of the last validation; NaN before there is one.
  double score = std::numeric_limits<double>::quiet_NaN();
};

/// A condition on the progress of a run: when to validate, to write a checkpoint, to stop. It has no memory of its own,
/// so that a resumed run acts as one that was never interrupted.
class Trigger {
 public:
  Trigger(std::string description, std::function<bool(const Progress&)> test);

  /// Asked once after every step.
  bool operator()(const Progress& progress) const { return test_(progress); }
  /// As in "every 100 iterations".
  const std::string& description() const { return description_; }

 private:
  std::string description_;
  std::function<bool(const Progress&)> test_;
};

Trigger every_epoch();
Trigger several_iterations(int64_t count);
Trigger max_epoch(int64_t count);
Trigger max_iteration(int64_t count);
/// Once the score of a validation is above `score`.
Trigger max_score(double score);
/// Once the loss of a step is below `loss`.
Trigger min_loss(double loss);
Trigger any_of(std::vector<Trigger> triggers);
Trigger all_of(std::vector<Trigger> triggers);

}  // namespace thalweg::optim
