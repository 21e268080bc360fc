// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "nn/metrics/inputs.h"
#include "thalweg/metrics.h"

namespace thalweg::metrics {
namespace {

/// What has been seen of one column of labels, and how far off the predictions were. Deviations from a mean that moves
/// (Welford, 1962; Chan et al., 1979) keep their digits where the labels lie far from zero.
struct Column {
  double count = 0, mean = 0, deviations = 0, residuals = 0;

  void merge(const Column& other) {
    if (other.count == 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    deviations += other.deviations + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    residuals += other.residuals;
    count = all;
  }
  /// As scikit-learn: labels that are all equal are explained wholly or not at all.
  double value() const {
    if (deviations == 0) return residuals == 0 ? 1 : 0;
    return 1 - residuals / deviations;
  }
};

constexpr size_t kFigures = 4;

class Determination : public Metric {
 public:
  Determination() : Metric("r2", true) {}

  void add(const Tensor& predictions, const Tensor& labels) override {
    const PairBatch batch = pair_batch(name(), predictions, labels);
    const int64_t rows = predictions.shape().rank() == 0 ? 1 : predictions.shape()[0];
    if (batch.count == 0) return;
    const auto width = static_cast<size_t>(batch.count / rows);
    require_width(width);
    const auto* predicted = batch.predictions.data<double>();
    const auto* wanted = batch.labels.data<double>();
    for (size_t i = 0; i < static_cast<size_t>(batch.count); ++i) {
      const double difference = wanted[i] - predicted[i];
      columns_[i % width].merge({1, wanted[i], 0, difference * difference});
    }
  }
  /// The mean over the columns.
  double value() const override {
    if (columns_.empty() || columns_[0].count == 0) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (const Column& column : columns_) sum += column.value();
    return sum / static_cast<double>(columns_.size());
  }
  void reset() override { columns_.clear(); }

  std::vector<double> state() const override {
    std::vector<double> result;
    for (const Column& c : columns_) result.insert(result.end(), {c.count, c.mean, c.deviations, c.residuals});
    return result;
  }
  void merge(std::span<const double> state) override {
    TW_REQUIRE(state.size() % kFigures == 0, "metric r2 cannot merge a state of ", state.size(),
               " values, it has 4 for each column");
    if (state.empty()) return;
    require_width(state.size() / kFigures);
    for (size_t i = 0; i < columns_.size(); ++i) {
      const double* figures = state.data() + i * kFigures;
      columns_[i].merge({figures[0], figures[1], figures[2], figures[3]});
    }
  }

 private:
  void require_width(size_t width) {
    if (columns_.empty()) columns_.resize(width);
    TW_REQUIRE(columns_.size() == width, "metric r2: rows of ", width, " numbers after rows of ", columns_.size());
  }

  std::vector<Column> columns_;
};

}  // namespace

MetricPtr coefficient_of_determination() { return std::make_unique<Determination>(); }

}  // namespace thalweg::metrics
