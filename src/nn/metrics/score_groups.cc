// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/metrics/score_groups.h"

#include <algorithm>
#include <limits>

namespace thalweg::metrics {

std::vector<ScoreGroup> group_by_score(std::vector<Scored> scored) {
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  std::vector<ScoreGroup> groups;
  for (size_t i = 0; i < scored.size(); ++i) {
    if (i == 0 || scored[i].score != scored[i - 1].score) groups.emplace_back();
    (scored[i].positive ? groups.back().positives : groups.back().negatives) += 1.0;
  }
  return groups;
}

double average_precision(const std::vector<ScoreGroup>& groups) {
  double positives = 0.0;
  double all = 0.0;
  double sum = 0.0;
  for (const ScoreGroup& group : groups) {
    positives += group.positives;
    all += group.positives + group.negatives;
    sum += group.positives * positives / all;
  }
  return positives == 0.0 ? std::numeric_limits<double>::quiet_NaN() : sum / positives;
}

}  // namespace thalweg::metrics
