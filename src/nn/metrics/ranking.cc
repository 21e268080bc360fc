// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "nn/metrics/inputs.h"
#include "nn/metrics/mean_metric.h"

namespace thalweg::metrics {
namespace {

/// Places, from 0, of what is relevant in one group, best first.
using Places = std::vector<int64_t>;

class RankingMetric : public MeanMetric {
 public:
  RankingMetric(const std::string& name, int64_t k, int64_t candidates)
      : MeanMetric(name + "@" + std::to_string(k), true), k_(k), candidates_(candidates) {
    TW_REQUIRE(k > 0, "metric ", name, ": k is ", k, ", must be positive");
    TW_REQUIRE(candidates >= 0, "metric ", name, ": candidates is ", candidates);
  }

  void add(const Tensor& predictions, const Tensor& labels) override {
    TW_REQUIRE(predictions.defined() && labels.defined(), "metric ", name(), ": predictions or labels are missing");
    const int64_t width = group_width(predictions.shape());
    const int64_t groups = predictions.num_elements() / width;
    const bool by_index = labels.num_elements() == groups;
    TW_REQUIRE(by_index || labels.num_elements() == predictions.num_elements(), "metric ", name(),
               ": predictions of shape ", predictions.shape(), " do not fit labels of shape ", labels.shape());
    const Tensor scores = predictions.to(DType::kF32);
    const Tensor wanted = labels.to(DType::kF64);
    double sum = 0.0;
    double counted = 0.0;
    for (int64_t g = 0; g < groups; ++g) {
      const double* group_labels = wanted.data<double>() + (by_index ? g : g * width);
      const std::vector<bool> relevant =
          by_index ? one_relevant(group_labels[0], g, width) : marked_relevant(group_labels, g, width);
      const Places places = places_of(scores.data<float>() + g * width, relevant);
      if (places.empty()) continue;
      sum += score(places);
      counted += 1.0;
    }
    accumulate(sum, counted);
  }

 protected:
  virtual double score(const Places& places) const = 0;
  int64_t k() const { return k_; }

 private:
  int64_t group_width(const Shape& shape) const {
    const int64_t width = candidates_ > 0 ? candidates_ : (shape.rank() == 2 ? shape[1] : 0);
    TW_REQUIRE(width > 1, "metric ", name(),
               " needs predictions of shape [groups, candidates], or the number of candidates; got ", shape);
    TW_REQUIRE(shape.num_elements() % width == 0, "metric ", name(), ": predictions of shape ", shape,
               " are no whole groups of ", width, " candidates");
    return width;
  }

  std::vector<bool> one_relevant(double label, int64_t group, int64_t width) const {
    std::vector<bool> relevant(static_cast<size_t>(width), false);
    relevant[static_cast<size_t>(class_of(name(), label, group, width))] = true;
    return relevant;
  }

  std::vector<bool> marked_relevant(const double* labels, int64_t group, int64_t width) const {
    std::vector<bool> relevant;
    for (int64_t i = 0; i < width; ++i) {
      relevant.push_back(class_of(name(), labels[i], group * width + i, 2) == 1);
    }
    return relevant;
  }

  /// Scores that are not numbers are the worst for what is relevant and the best for the rest.
  static Places places_of(const float* scores, const std::vector<bool>& relevant) {
    std::vector<float> wanted;
    for (size_t i = 0; i < relevant.size(); ++i) {
      if (relevant[i]) wanted.push_back(std::isnan(scores[i]) ? -INFINITY : scores[i]);
    }
    std::sort(wanted.begin(), wanted.end(), std::greater<>());
    Places places;
    for (size_t w = 0; w < wanted.size(); ++w) {
      auto place = static_cast<int64_t>(w);
      for (size_t i = 0; i < relevant.size(); ++i) {
        if (!relevant[i] && !(scores[i] < wanted[w])) ++place;
      }
      places.push_back(place);
    }
    return places;
  }

  int64_t k_;
  int64_t candidates_;
};

class HitRatio : public RankingMetric {
 public:
  HitRatio(int64_t k, int64_t candidates) : RankingMetric("hit_ratio", k, candidates) {}

 protected:
  double score(const Places& places) const override { return places.front() < k() ? 1.0 : 0.0; }
};

class Ndcg : public RankingMetric {
 public:
  Ndcg(int64_t k, int64_t candidates) : RankingMetric("ndcg", k, candidates) {}

 protected:
  double score(const Places& places) const override {
    double gain = 0.0;
    double best = 0.0;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < k()) gain += discount(places[i]);
      if (static_cast<int64_t>(i) < k()) best += discount(static_cast<int64_t>(i));
    }
    return gain / best;
  }

 private:
  static double discount(int64_t place) { return 1.0 / std::log2(static_cast<double>(place) + 2.0); }
};

}  // namespace

MetricPtr hit_ratio(int64_t k, int64_t candidates) { return std::make_unique<HitRatio>(k, candidates); }

MetricPtr ndcg(int64_t k, int64_t candidates) { return std::make_unique<Ndcg>(k, candidates); }

}  // namespace thalweg::metrics
