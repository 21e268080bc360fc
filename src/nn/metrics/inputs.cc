// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/metrics/inputs.h"

#include <cmath>

namespace thalweg::metrics {
namespace {

void require_defined(const std::string& metric, const Tensor& predictions, const Tensor& labels) {
  TW_REQUIRE(predictions.defined(), "metric ", metric, ": no predictions");
  TW_REQUIRE(labels.defined(), "metric ", metric, ": no labels");
}

}  // namespace

ClassBatch class_batch(const std::string& metric, const Tensor& predictions, const Tensor& labels) {
  require_defined(metric, predictions, labels);
  const Shape& shape = predictions.shape();
  TW_REQUIRE(shape.rank() >= 2 && shape[1] > 0, "metric ", metric,
             " needs predictions of shape [rows, classes, ...], got ", shape);
  ClassBatch batch;
  batch.classes = shape[1];
  batch.inner = shape.num_elements(2, shape.rank());
  batch.count = shape[0] * batch.inner;
  TW_REQUIRE(labels.num_elements() == batch.count, "metric ", metric, ": predictions of shape ", shape, " need ",
             batch.count, " labels, got shape ", labels.shape());
  batch.scores = predictions.to(DType::kF32);
  batch.labels = labels.to(DType::kF64);
  return batch;
}

PairBatch pair_batch(const std::string& metric, const Tensor& predictions, const Tensor& labels) {
  require_defined(metric, predictions, labels);
  TW_REQUIRE(predictions.num_elements() == labels.num_elements(), "metric ", metric, ": predictions of shape ",
             predictions.shape(), " do not fit labels of shape ", labels.shape());
  return {predictions.to(DType::kF64), labels.to(DType::kF64), labels.num_elements()};
}

int64_t class_of(const std::string& metric, double label, int64_t row, int64_t classes) {
  TW_REQUIRE(label >= 0.0 && label < static_cast<double>(classes) && label == std::floor(label), "metric ", metric,
             ": row ", row, " has the label ", label, ", but there are ", classes, " classes (0 to ", classes - 1, ")");
  return static_cast<int64_t>(label);
}

}  // namespace thalweg::metrics
