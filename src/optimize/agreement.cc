// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/agreement.h"

#include <algorithm>
#include <cmath>

namespace thalweg {

void AgreementMeter::add(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  outputs_.resize(std::max({outputs_.size(), expected.size(), actual.size()}));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool both = i < expected.size() && i < actual.size();
    if (both && expected[i].type() == actual[i].type()) {
      outputs_[i].comparison.add(expected[i], actual[i]);
    } else {
      outputs_[i].comparable = false;
    }
  }
}

Agreement AgreementMeter::result() const {
  Agreement result;
  for (const auto& [comparison, comparable] : outputs_) {
    if (!comparable) return {0.0, INFINITY};
    const double score = comparison.rows() > 0
                             ? static_cast<double>(comparison.same_top_rows()) / static_cast<double>(comparison.rows())
                             : std::max(1.0 - comparison.relative_distance(), 0.0);
    result.score = std::min(result.score, score);
    result.max_error = std::max(result.max_error, comparison.not_finite() > 0 ? INFINITY : comparison.max_of_range());
  }
  return result;
}

}  // namespace thalweg
