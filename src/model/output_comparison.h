// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "thalweg/tensor.h"

namespace thalweg {

/// How much one output of a model differs from that of another, over all batches that were added.
class OutputComparison {
 public:
  /// Throws if the shapes differ; element types may. Infinities and NaN count as equal where both have the same.
  void add(const Tensor& a, const Tensor& b);

  int64_t elements() const { return elements_; }
  double max_absolute() const { return max_absolute_; }
  double mean_absolute() const { return mean(sum_absolute_); }
  /// |a - b| / max(|a|, |b|), 0 where both are.
  double max_relative() const { return max_relative_; }
  double mean_relative() const { return mean(sum_relative_); }
  /// The largest difference as a share of the largest |a|: small elements next to large ones do not matter.
  double max_of_range() const;
  /// |a - b| / |a| of the outputs as vectors; infinite if only a is zero, or not_finite() is not 0.
  double relative_distance() const;
  /// Of the angle between the outputs as vectors; 1 if both are zero.
  double cosine() const;
  /// Elements of which one is infinite or NaN and the other is not the same.
  int64_t not_finite() const { return not_finite_; }
  /// Rows of an output [N, classes], and those whose largest elements are in the same place.
  int64_t rows() const { return rows_; }
  int64_t same_top_rows() const { return same_top_rows_; }

 private:
  double mean(double sum) const { return elements_ > 0 ? sum / static_cast<double>(elements_) : 0; }

  int64_t elements_ = 0, not_finite_ = 0, rows_ = 0, same_top_rows_ = 0;
  double max_absolute_ = 0, sum_absolute_ = 0, max_relative_ = 0, sum_relative_ = 0, largest_ = 0;
  double product_ = 0, square_a_ = 0, square_b_ = 0, square_difference_ = 0;
};

}  // namespace thalweg
