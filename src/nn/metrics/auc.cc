// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "nn/metrics/inputs.h"
#include "nn/metrics/score_groups.h"
#include "thalweg/metrics.h"

namespace thalweg::metrics {
namespace {

class CurveArea : public Metric {
 public:
  explicit CurveArea(const char* name) : Metric(name, true) {}

  void add(const Tensor& predictions, const Tensor& labels) override {
    TW_REQUIRE(predictions.defined() && labels.defined(), "metric ", name(), ": predictions or labels are missing");
    const Shape& shape = predictions.shape();
    const bool pairs = shape.rank() == 2 && shape[1] == 2 && labels.num_elements() == shape[0];
    TW_REQUIRE(pairs || predictions.num_elements() == labels.num_elements(), "metric ", name(),
               ": predictions of shape ", shape, " do not fit labels of shape ", labels.shape());
    const Tensor scores = predictions.to(DType::kF32);
    const Tensor wanted = labels.to(DType::kF64);
    std::vector<Scored> batch;
    for (int64_t i = 0; i < labels.num_elements(); ++i) {
      const float score = scores.data<float>()[pairs ? 2 * i + 1 : i];
      TW_REQUIRE(!std::isnan(score), "metric ", name(), ": the score of row ", i, " is not a number");
      batch.push_back({score, class_of(name(), wanted.data<double>()[i], i, 2) == 1});
    }
    scored_.insert(scored_.end(), batch.begin(), batch.end());
  }

  void reset() override { scored_.clear(); }

  std::vector<double> state() const override {
    std::vector<double> result;
    result.reserve(scored_.size() * 2);
    for (const Scored& item : scored_) {
      result.push_back(item.score);
      result.push_back(item.positive ? 1.0 : 0.0);
    }
    return result;
  }

  void merge(std::span<const double> state) override {
    TW_REQUIRE(state.size() % 2 == 0, "metric ", name(), " cannot merge a state of ", state.size(),
               " values, an odd number");
    for (size_t i = 0; i < state.size(); i += 2) {
      scored_.push_back({static_cast<float>(state[i]), state[i + 1] != 0.0});
    }
  }

 protected:
  std::vector<ScoreGroup> groups() const { return group_by_score(scored_); }

 private:
  std::vector<Scored> scored_;
};

/// The share of pairs of a positive and a negative in which the positive has the higher score.
class RocArea : public CurveArea {
 public:
  RocArea() : CurveArea("auc") {}

  double value() const override {
    double positives = 0.0;
    double negatives = 0.0;
    double ordered_pairs = 0.0;
    for (const ScoreGroup& group : groups()) {
      ordered_pairs += group.negatives * (positives + 0.5 * group.positives);
      positives += group.positives;
      negatives += group.negatives;
    }
    if (positives == 0.0 || negatives == 0.0) return std::numeric_limits<double>::quiet_NaN();
    return ordered_pairs / (positives * negatives);
  }
};

class PrecisionRecallArea : public CurveArea {
 public:
  PrecisionRecallArea() : CurveArea("pr_auc") {}

  double value() const override { return average_precision(groups()); }
};

}  // namespace

MetricPtr auc() { return std::make_unique<RocArea>(); }

MetricPtr pr_auc() { return std::make_unique<PrecisionRecallArea>(); }

}  // namespace thalweg::metrics
