// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "nn/metrics/inputs.h"
#include "nn/metrics/mean_metric.h"

namespace thalweg::metrics {
namespace {

/// A score that is not a number is above all others, and a label that has one is never right: a network that diverged
/// must not look good.
bool is_among_first(const ClassBatch& batch, int64_t i, int64_t label, int64_t k) {
  const float* scores = batch.scores_of(i);
  const float own = scores[label * batch.inner];
  if (std::isnan(own)) return false;
  int64_t before = 0;
  for (int64_t c = 0; c < batch.classes && before < k; ++c) {
    const float other = scores[c * batch.inner];
    if (c != label && (!(other <= own) || (other == own && c < label))) ++before;
  }
  return before < k;
}

class TopK : public MeanMetric {
 public:
  TopK(std::string name, int64_t k, std::optional<int64_t> ignore_label)
      : MeanMetric(std::move(name), true), k_(k), ignore_label_(ignore_label) {
    TW_REQUIRE(k > 0, "metric top_k_accuracy: k is ", k, ", must be positive");
  }

  void add(const Tensor& predictions, const Tensor& labels) override {
    const ClassBatch batch = class_batch(name(), predictions, labels);
    const double* label = batch.labels.data<double>();
    int64_t right = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < batch.count; ++i) {
      if (ignore_label_ && label[i] == static_cast<double>(*ignore_label_)) continue;
      ++counted;
      const int64_t wanted = class_of(name(), label[i], i, batch.classes);
      if (is_among_first(batch, i, wanted, k_)) ++right;
    }
    accumulate(static_cast<double>(right), static_cast<double>(counted));
  }

 private:
  int64_t k_;
  std::optional<int64_t> ignore_label_;
};

class BinaryAccuracy : public MeanMetric {
 public:
  explicit BinaryAccuracy(double threshold) : MeanMetric("binary_accuracy", true), threshold_(threshold) {}

  void add(const Tensor& predictions, const Tensor& labels) override {
    const PairBatch batch = pair_batch(name(), predictions, labels);
    int64_t right = 0;
    for (int64_t i = 0; i < batch.count; ++i) {
      const double score = batch.predictions.data<double>()[i];
      const int64_t wanted = class_of(name(), batch.labels.data<double>()[i], i, 2);
      if (!std::isnan(score) && (score > threshold_) == (wanted == 1)) ++right;
    }
    accumulate(static_cast<double>(right), static_cast<double>(batch.count));
  }

 private:
  double threshold_;
};

}  // namespace

MetricPtr accuracy(std::optional<int64_t> ignore_label) { return std::make_unique<TopK>("accuracy", 1, ignore_label); }

MetricPtr top_k_accuracy(int64_t k, std::optional<int64_t> ignore_label) {
  return std::make_unique<TopK>("top" + std::to_string(k) + "_accuracy", k, ignore_label);
}

MetricPtr binary_accuracy(double threshold) { return std::make_unique<BinaryAccuracy>(threshold); }

}  // namespace thalweg::metrics
