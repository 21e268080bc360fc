// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/output_comparison.h"

#include <algorithm>
#include <cmath>

namespace thalweg {

void OutputComparison::add(const Tensor& a, const Tensor& b) {
  TW_REQUIRE(a.shape() == b.shape(), "outputs of shapes ", a.shape(), " and ", b.shape(), " cannot be compared");
  const Tensor numbers_a = a.to(DType::kF64);
  const Tensor numbers_b = b.to(DType::kF64);
  const double* x = numbers_a.data<double>();
  const double* y = numbers_b.data<double>();
  elements_ += a.num_elements();
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      not_finite_ += x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ? 0 : 1;
      continue;
    }
    const double difference = std::fabs(x[i] - y[i]);
    const double size = std::max(std::fabs(x[i]), std::fabs(y[i]));
    const double relative = size > 0 ? difference / size : 0;
    max_absolute_ = std::max(max_absolute_, difference);
    max_relative_ = std::max(max_relative_, relative);
    sum_absolute_ += difference;
    sum_relative_ += relative;
    largest_ = std::max(largest_, std::fabs(x[i]));
    product_ += x[i] * y[i];
    square_a_ += x[i] * x[i];
    square_b_ += y[i] * y[i];
    square_difference_ += difference * difference;
  }
  if (a.shape().rank() != 2 || a.shape()[1] < 2) return;
  const int64_t columns = a.shape()[1];
  rows_ += a.shape()[0];
  for (int64_t row = 0; row < a.shape()[0]; ++row) {
    const auto top = [&](const double* values) { return std::max_element(values, values + columns) - values; };
    same_top_rows_ += top(x + row * columns) == top(y + row * columns) ? 1 : 0;
  }
}

double OutputComparison::max_of_range() const {
  if (max_absolute_ == 0) return 0;
  return largest_ > 0 ? max_absolute_ / largest_ : INFINITY;
}

double OutputComparison::relative_distance() const {
  if (not_finite_ > 0) return INFINITY;
  if (square_difference_ == 0) return 0;
  return square_a_ > 0 ? std::sqrt(square_difference_ / square_a_) : INFINITY;
}

double OutputComparison::cosine() const {
  if (square_a_ == 0 && square_b_ == 0) return 1;
  const double lengths = std::sqrt(square_a_) * std::sqrt(square_b_);
  return lengths > 0 ? std::clamp(product_ / lengths, -1.0, 1.0) : 0;
}

}  // namespace thalweg
