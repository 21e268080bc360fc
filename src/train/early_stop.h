// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "thalweg/train.h"

namespace thalweg {

/// Follows the score from validation to validation.
class BestScore {
 public:
  BestScore(const EarlyStopping& options, bool higher_is_better) : options_(options), higher_(higher_is_better) {}

  /// True if this score is the best so far. NaN never is.
  bool observe(double score, int64_t iteration) {
    const double gain = higher_ ? score - best : best - score;
    const bool better = std::isnan(best) ? !std::isnan(score) : gain > options_.min_change;
    if (better) {
      best = score;
      best_iteration = iteration;
      without_gain = 0;
    } else {
      ++without_gain;
    }
    return better;
  }
  bool should_stop() const { return options_.patience > 0 && without_gain >= options_.patience; }

  // What a checkpoint keeps.
  double best = std::numeric_limits<double>::quiet_NaN();
  int64_t best_iteration = 0;
  int64_t without_gain = 0;

 private:
  EarlyStopping options_;
  bool higher_;
};

}  // namespace thalweg
