// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "thalweg/tensor.h"

namespace thalweg::metrics {

/// Scores of several classes for each label: the score of class c for label i is
/// scores[(i / inner * classes + c) * inner + i % inner].
struct ClassBatch {
  Tensor scores;  // f32
  Tensor labels;  // f64
  int64_t classes = 0;
  int64_t inner = 1;  // positions per row, as in images
  int64_t count = 0;  // of labels

  const float* scores_of(int64_t i) const { return scores.data<float>() + i / inner * classes * inner + i % inner; }
};
ClassBatch class_batch(const std::string& metric, const Tensor& predictions, const Tensor& labels);

/// As many predictions as labels, one by one.
struct PairBatch {
  Tensor predictions;  // f64
  Tensor labels;       // f64
  int64_t count = 0;
};
PairBatch pair_batch(const std::string& metric, const Tensor& predictions, const Tensor& labels);

/// The label as a class in [0, classes); throws and names row and value otherwise.
int64_t class_of(const std::string& metric, double label, int64_t row, int64_t classes);

}  // namespace thalweg::metrics
