// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "thalweg/metrics.h"

namespace thalweg::metrics {

/// A mean: sum and count are all its state.
class MeanMetric : public Metric {
 public:
  using Metric::Metric;

  double value() const override { return count_ > 0.0 ? sum_ / count_ : std::numeric_limits<double>::quiet_NaN(); }
  void reset() override { sum_ = count_ = 0.0; }
  std::vector<double> state() const override { return {sum_, count_}; }
  void merge(std::span<const double> state) override {
    TW_REQUIRE(state.size() == 2, "metric ", name(), " cannot merge a state of ", state.size(), " values, it has 2");
    accumulate(state[0], state[1]);
  }

 protected:
  void accumulate(double sum, double count) {
    sum_ += sum;
    count_ += count;
  }

 private:
  double sum_ = 0.0;
  double count_ = 0.0;
};

}  // namespace thalweg::metrics
