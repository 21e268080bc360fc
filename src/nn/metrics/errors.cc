// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "nn/metrics/inputs.h"
#include "nn/metrics/mean_metric.h"

namespace thalweg::metrics {
namespace {

class MeanLoss : public MeanMetric {
 public:
  MeanLoss() : MeanMetric("loss", false) {}

  void add(const Tensor& predictions, const Tensor& labels) override {
    TW_REQUIRE(predictions.defined(), "metric loss: no losses");
    const Tensor losses = predictions.to(DType::kF64);
    double sum = 0.0;
    for (int64_t i = 0; i < losses.num_elements(); ++i) sum += losses.data<double>()[i];
    auto count = static_cast<double>(losses.num_elements());
    if (losses.num_elements() == 1 && labels.defined()) {
      const int64_t rows = labels.shape().rank() == 0 ? 1 : labels.shape()[0];
      sum *= static_cast<double>(rows);
      count = static_cast<double>(rows);
    }
    accumulate(sum, count);
  }
};

class ElementError : public MeanMetric {
 public:
  ElementError(const char* name, double (*measure)(double prediction, double label))
      : MeanMetric(name, false), measure_(measure) {}

  void add(const Tensor& predictions, const Tensor& labels) override {
    const PairBatch batch = pair_batch(name(), predictions, labels);
    double sum = 0.0;
    for (int64_t i = 0; i < batch.count; ++i) {
      sum += measure_(batch.predictions.data<double>()[i], batch.labels.data<double>()[i]);
    }
    accumulate(sum, static_cast<double>(batch.count));
  }

 private:
  double (*measure_)(double prediction, double label);
};

double magnitude(double prediction, double label) { return std::fabs(prediction - label); }

double square(double prediction, double label) { return (prediction - label) * (prediction - label); }

/// Of the label. One of zero is taken for the least number that is not, as scikit-learn does.
double share(double prediction, double label) {
  return std::fabs(prediction - label) / std::fmax(std::fabs(label), std::numeric_limits<double>::epsilon());
}

class RootMeanSquare : public ElementError {
 public:
  RootMeanSquare() : ElementError("rmse", square) {}
  double value() const override { return std::sqrt(ElementError::value()); }
};

}  // namespace

MetricPtr mean_loss() { return std::make_unique<MeanLoss>(); }

MetricPtr mean_absolute_error() { return std::make_unique<ElementError>("mae", magnitude); }

MetricPtr mean_squared_error() { return std::make_unique<ElementError>("mse", square); }

MetricPtr root_mean_squared_error() { return std::make_unique<RootMeanSquare>(); }

MetricPtr mean_absolute_percentage_error() { return std::make_unique<ElementError>("mape", share); }

}  // namespace thalweg::metrics
