// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "nn/metrics/inputs.h"
#include "nn/metrics/score_groups.h"
#include "thalweg/metrics.h"

namespace thalweg::metrics {
namespace {

class MeanAveragePrecision : public Metric {
 public:
  MeanAveragePrecision() : Metric("mean_average_precision", true) {}

  void add(const Tensor& predictions, const Tensor& labels) override {
    TW_REQUIRE(predictions.defined() && labels.defined(), "metric ", name(), ": predictions or labels are missing");
    const Shape& shape = predictions.shape();
    TW_REQUIRE(shape.rank() == 2 && labels.num_elements() == shape[0], "metric ", name(),
               ": takes predictions [N, classes] and N labels, got ", shape, " and ", labels.shape());
    require_classes(shape[1]);
    const Tensor scores = predictions.to(DType::kF32);
    const Tensor wanted = labels.to(DType::kF64);
    std::vector<int64_t> classes;
    for (int64_t row = 0; row < shape[0]; ++row) {
      classes.push_back(class_of(name(), wanted.data<double>()[row], row, shape[1]));
      for (int64_t c = 0; c < shape[1]; ++c) {
        TW_REQUIRE(!std::isnan(scores.data<float>()[row * shape[1] + c]), "metric ", name(), ": a score of row ", row,
                   " is not a number");
      }
    }
    classes_ = shape[1];
    labels_.insert(labels_.end(), classes.begin(), classes.end());
    scores_.insert(scores_.end(), scores.data<float>(), scores.data<float>() + scores.num_elements());
  }

  double value() const override {
    double sum = 0;
    int64_t counted = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      const double precision = average_precision(group_by_score(against_the_rest(c)));
      if (std::isnan(precision)) continue;
      sum += precision;
      ++counted;
    }
    return counted == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(counted);
  }

  void reset() override {
    classes_ = 0;
    labels_.clear();
    scores_.clear();
  }

  /// The number of classes, then for each row its label and scores.
  std::vector<double> state() const override {
    std::vector<double> result = {static_cast<double>(classes_)};
    for (size_t row = 0; row < labels_.size(); ++row) {
      result.push_back(static_cast<double>(labels_[row]));
      const auto first = scores_.begin() + static_cast<int64_t>(row) * classes_;
      result.insert(result.end(), first, first + classes_);
    }
    return result;
  }

  void merge(std::span<const double> state) override {
    if (state.size() == 1 && state[0] == 0) return;
    const double count = state.empty() ? 0 : state[0];
    TW_REQUIRE(count >= 1 && count < static_cast<double>(state.size()) && count == std::floor(count) &&
                   (state.size() - 1) % (static_cast<size_t>(count) + 1) == 0,
               "metric ", name(), " cannot merge a state of ", state.size(), " values");
    const auto classes = static_cast<int64_t>(count);
    require_classes(classes);
    std::vector<int64_t> labels;
    for (size_t at = 1; at < state.size(); at += static_cast<size_t>(classes) + 1)
      labels.push_back(class_of(name(), state[at], static_cast<int64_t>(labels.size()), classes));
    classes_ = classes;
    labels_.insert(labels_.end(), labels.begin(), labels.end());
    for (size_t at = 1; at < state.size(); ++at) {
      if ((at - 1) % static_cast<size_t>(classes + 1) != 0) scores_.push_back(static_cast<float>(state[at]));
    }
  }

 private:
  void require_classes(int64_t classes) const {
    TW_REQUIRE(classes_ == 0 || classes_ == classes, "metric ", name(), ": predictions for ", classes,
               " classes after some for ", classes_);
  }

  std::vector<Scored> against_the_rest(int64_t chosen) const {
    std::vector<Scored> scored;
    for (size_t row = 0; row < labels_.size(); ++row) {
      const int64_t at = static_cast<int64_t>(row) * classes_ + chosen;
      scored.push_back({scores_[static_cast<size_t>(at)], labels_[row] == chosen});
    }
    return scored;
  }

  int64_t classes_ = 0;
  std::vector<int64_t> labels_;
  std::vector<float> scores_;
};

}  // namespace

MetricPtr mean_average_precision() { return std::make_unique<MeanAveragePrecision>(); }

}  // namespace thalweg::metrics
