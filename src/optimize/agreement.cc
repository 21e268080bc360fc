// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/agreement.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

/// Rows whose largest element is what is asked for.
bool is_classification(const Tensor& tensor) { return tensor.shape().rank() == 2 && tensor.shape()[1] > 1; }

}  // namespace

void AgreementMeter::add(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  outputs_.resize(std::max({outputs_.size(), expected.size(), actual.size()}));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool both = i < expected.size() && i < actual.size();
    if (!both || expected[i].type() != actual[i].type()) {
      outputs_[i].comparable = false;
      continue;
    }
    add_output(expected[i].to(DType::kF32), actual[i].to(DType::kF32), outputs_[i]);
  }
}

void AgreementMeter::add_output(const Tensor& expected, const Tensor& actual, Output& output) {
  const float* e = expected.data<float>();
  const float* a = actual.data<float>();
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const double difference = static_cast<double>(a[i]) - e[i];
    output.error_squared += difference * difference;
    output.squared += static_cast<double>(e[i]) * e[i];
    output.max_error = std::max(output.max_error, std::fabs(difference));
    output.max_element = std::max(output.max_element, std::fabs(static_cast<double>(e[i])));
    if (std::isnan(difference)) output.max_error = output.error_squared = INFINITY;
  }
  if (!is_classification(expected)) return;
  const int64_t rows = expected.shape()[0], columns = expected.shape()[1];
  output.rows += rows;
  for (int64_t r = 0; r < rows; ++r) {
    const auto best = [&](const float* row) { return std::max_element(row, row + columns) - row; };
    output.same_rows += best(e + r * columns) == best(a + r * columns) ? 1 : 0;
  }
}

Agreement AgreementMeter::result() const {
  Agreement result;
  for (const Output& output : outputs_) {
    if (!output.comparable) return {0.0, INFINITY};
    const double relative = output.squared > 0.0 ? std::sqrt(output.error_squared / output.squared)
                                                 : (output.error_squared > 0.0 ? 1.0 : 0.0);
    const double score = output.rows > 0 ? static_cast<double>(output.same_rows) / static_cast<double>(output.rows)
                                         : std::max(1.0 - relative, 0.0);
    result.score = std::min(result.score, score);
    const double scale = output.max_element > 0.0 ? output.max_element : 1.0;
    result.max_error = std::max(result.max_error, output.max_error / scale);
  }
  return result;
}

}  // namespace thalweg
