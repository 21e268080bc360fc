// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "vision/curve.h"

#include <algorithm>
#include <numeric>

namespace thalweg::vision {

std::vector<uint32_t> order_by_score(std::span<const double> scores) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  return order;
}

void Curve::trace(std::span<const Outcome> outcomes, int64_t objects, double none) {
  recall.clear();
  precision.clear();
  int64_t right = 0;
  int64_t wrong = 0;
  for (const Outcome outcome : outcomes) {
    if (outcome == Outcome::kNotCounted) continue;
    ++(outcome == Outcome::kRight ? right : wrong);
    recall.push_back(static_cast<double>(right) / static_cast<double>(objects));
    precision.push_back(static_cast<double>(right) / (static_cast<double>(wrong + right) + none));
  }
}

void Curve::raise_to_envelope() {
  for (size_t i = precision.size(); i > 1; --i) precision[i - 2] = std::max(precision[i - 2], precision[i - 1]);
}

}  // namespace thalweg::vision
