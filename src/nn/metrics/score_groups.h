// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace thalweg::metrics {

struct Scored {
  float score;
  bool positive;
};

/// Labels that share one score.
struct ScoreGroup {
  double positives = 0.0;
  double negatives = 0.0;
};

/// In descending order of scores.
std::vector<ScoreGroup> group_by_score(std::vector<Scored> scored);

/// The mean, over the positives, of the precision at the score of each; NaN if there are none.
double average_precision(const std::vector<ScoreGroup>& groups);

}  // namespace thalweg::metrics
