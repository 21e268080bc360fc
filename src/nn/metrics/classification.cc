// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "nn/metrics/inputs.h"
#include "thalweg/metrics.h"

namespace thalweg::metrics {
namespace {

/// Decisions about one class.
struct Counts {
  double right = 0.0;   // said to be of the class, and is
  double wrong = 0.0;   // said to be, and is not
  double missed = 0.0;  // is, and was not said to be
};

using Formula = double (*)(const Counts& counts);

double quotient(double numerator, double denominator) { return denominator == 0.0 ? 0.0 : numerator / denominator; }

double precision_of(const Counts& c) { return quotient(c.right, c.right + c.wrong); }
double recall_of(const Counts& c) { return quotient(c.right, c.right + c.missed); }
double f1_of(const Counts& c) { return quotient(2.0 * c.right, 2.0 * c.right + c.wrong + c.missed); }

class Classification : public Metric {
 public:
  Classification(const char* name, Formula formula, const ClassificationOptions& options)
      : Metric(name, true), formula_(formula), options_(options) {
    TW_REQUIRE(options.num_classes >= 2, "metric ", name, ": num_classes is ", options.num_classes,
               ", must be at least 2");
    TW_REQUIRE(options.average != Average::kBinary || options.num_classes == 2, "metric ", name, ": ",
               options.num_classes, " classes need the average macro or micro");
    reset();
  }

  void add(const Tensor& predictions, const Tensor& labels) override {
    std::vector<Counts> counts = counts_;
    const bool single_scores = options_.num_classes == 2 && predictions.defined() && labels.defined() &&
                               predictions.num_elements() == labels.num_elements();
    if (single_scores) {
      add_scores(pair_batch(name(), predictions, labels), counts);
    } else {
      add_classes(class_batch(name(), predictions, labels), counts);
    }
    counts_ = std::move(counts);
  }

  double value() const override {
    Counts all;
    double sum = 0.0;
    double occurring = 0.0;
    for (const Counts& c : counts_) {
      all = {all.right + c.right, all.wrong + c.wrong, all.missed + c.missed};
      if (c.right + c.wrong + c.missed == 0.0) continue;
      occurring += 1.0;
      sum += formula_(c);
    }
    if (occurring == 0.0) return std::numeric_limits<double>::quiet_NaN();
    switch (options_.average) {
      case Average::kBinary: return formula_(counts_[1]);
      case Average::kMacro: return sum / occurring;
      case Average::kMicro: return formula_(all);
    }
    raise("metric ", name(), ": unknown average");
  }

  void reset() override { counts_.assign(static_cast<size_t>(options_.num_classes), {}); }

  std::vector<double> state() const override {
    std::vector<double> result;
    for (const Counts& c : counts_) result.insert(result.end(), {c.right, c.wrong, c.missed});
    return result;
  }

  void merge(std::span<const double> state) override {
    TW_REQUIRE(state.size() == counts_.size() * 3, "metric ", name(), " cannot merge a state of ", state.size(),
               " values, it has ", counts_.size() * 3);
    for (size_t c = 0; c < counts_.size(); ++c) {
      counts_[c].right += state[3 * c];
      counts_[c].wrong += state[3 * c + 1];
      counts_[c].missed += state[3 * c + 2];
    }
  }

 private:
  static void decide(int64_t said, int64_t wanted, std::vector<Counts>& counts) {
    if (said == wanted) {
      counts[static_cast<size_t>(wanted)].right += 1.0;
    } else {
      counts[static_cast<size_t>(said)].wrong += 1.0;
      counts[static_cast<size_t>(wanted)].missed += 1.0;
    }
  }

  void add_scores(const PairBatch& batch, std::vector<Counts>& counts) const {
    for (int64_t i = 0; i < batch.count; ++i) {
      const int64_t wanted = class_of(name(), batch.labels.data<double>()[i], i, 2);
      decide(batch.predictions.data<double>()[i] > options_.threshold ? 1 : 0, wanted, counts);
    }
  }

  void add_classes(const ClassBatch& batch, std::vector<Counts>& counts) const {
    TW_REQUIRE(batch.classes == options_.num_classes, "metric ", name(), ": predictions have ", batch.classes,
               " classes, not ", options_.num_classes);
    for (int64_t i = 0; i < batch.count; ++i) {
      const float* scores = batch.scores_of(i);
      int64_t best = 0;
      for (int64_t c = 1; c < batch.classes; ++c) {
        if (scores[c * batch.inner] > scores[best * batch.inner]) best = c;
      }
      decide(best, class_of(name(), batch.labels.data<double>()[i], i, batch.classes), counts);
    }
  }

  Formula formula_;
  ClassificationOptions options_;
  std::vector<Counts> counts_;
};

}  // namespace

MetricPtr precision(const ClassificationOptions& options) {
  return std::make_unique<Classification>("precision", precision_of, options);
}

MetricPtr recall(const ClassificationOptions& options) {
  return std::make_unique<Classification>("recall", recall_of, options);
}

MetricPtr f1(const ClassificationOptions& options) { return std::make_unique<Classification>("f1", f1_of, options); }

}  // namespace thalweg::metrics
