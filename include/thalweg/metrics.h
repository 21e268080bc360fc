// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

namespace thalweg::metrics {

/// A figure over all batches that were added. Predictions may be of any floating type, labels of any numeric type. A
/// batch that does not fit (shapes, a label out of range) throws, names the row, and leaves the metric as it was.
class Metric {
 public:
  Metric(std::string name, bool higher_is_better) : name_(std::move(name)), higher_is_better_(higher_is_better) {}
  virtual ~Metric() = default;

  /// As shown to people: "top5_accuracy", "ndcg@10".
  const std::string& name() const { return name_; }
  bool higher_is_better() const { return higher_is_better_; }
  /// Which of a model's outputs and of a batch's targets it is about.
  size_t output() const { return output_; }
  size_t target() const { return target_; }

  virtual void add(const Tensor& predictions, const Tensor& labels) = 0;
  /// NaN while nothing has been added that would define it.
  virtual double value() const = 0;
  virtual void reset() = 0;

  /// All that was added so far, to be merged into a metric of the same kind elsewhere.
  virtual std::vector<double> state() const = 0;
  /// As if the batches behind `state` had been added here.
  virtual void merge(std::span<const double> state) = 0;

 private:
  friend std::unique_ptr<Metric> on_output(std::unique_ptr<Metric>, size_t, size_t, const std::string&);
  std::string name_;
  bool higher_is_better_;
  size_t output_ = 0;
  size_t target_ = 0;
};

using MetricPtr = std::unique_ptr<Metric>;

/// For models with several outputs: `metric` is about this output and this target, rather than the first ones. `name`
/// tells its score from others; empty: "<metric>.<output>".
MetricPtr on_output(MetricPtr metric, size_t output, size_t target, const std::string& name = "");

/// The share of labels that are among the k classes with the highest scores; of equal scores, the lower class comes
/// first. Predictions [N, classes, ...], labels [N, ...]. Labels equal to `ignore_label` do not count.
MetricPtr accuracy(std::optional<int64_t> ignore_label = std::nullopt);
MetricPtr top_k_accuracy(int64_t k, std::optional<int64_t> ignore_label = std::nullopt);

/// One score for each label, which is 0 or 1; a score above the threshold means 1. For logits, use 0.
MetricPtr binary_accuracy(double threshold = 0.5);

/// The mean of losses. `add` takes the loss of each row, or one mean loss that then counts for as many rows as there
/// are labels.
MetricPtr mean_loss();

/// Over all elements; predictions and labels have as many of them.
MetricPtr mean_absolute_error();
MetricPtr mean_squared_error();
MetricPtr root_mean_squared_error();
/// The mean of |prediction - label| / |label|: 0.1 is 10%.
MetricPtr mean_absolute_percentage_error();
/// r2: 1 minus the squared errors relative to those of the labels' own mean; 1 is perfect, 0 no better than that mean.
/// Of rows of several numbers the mean over the columns.
MetricPtr coefficient_of_determination();

/// Area under the receiver operating characteristic, exact, with ties counted half. Scores [N] or [N, 1], or [N, 2] of
/// which the second counts; labels 0 or 1. Keeps all scores. NaN while only one of the labels has been seen.
MetricPtr auc();
/// Area under the precision-recall curve as the average precision, exact. Input as for auc().
MetricPtr pr_auc();

/// The mean, over the classes that occur, of the average precision of each against all others. Predictions [N,
/// classes], labels [N]. Keeps all scores.
MetricPtr mean_average_precision();

/// Recommendations: each group of candidates is ranked by score, ties to the disadvantage of what should be on top.
/// Predictions [groups, candidates], or flat if `candidates` is given; labels of the same size with 1 for what is
/// relevant and 0 otherwise, or one index of the relevant candidate per group. Groups without any do not count.
/// hit_ratio: the share of groups with something relevant among the first k.
MetricPtr hit_ratio(int64_t k, int64_t candidates = 0);
/// ndcg: the discounted gain of the first k relative to the best possible.
MetricPtr ndcg(int64_t k, int64_t candidates = 0);

enum class Average {
  kBinary,  ///< of class 1 alone
  kMacro,   ///< the mean over the classes that occur in predictions or labels
  kMicro,   ///< over all decisions
};

struct ClassificationOptions {
  int64_t num_classes = 2;
  Average average = Average::kBinary;
  /// For two classes with one score per label.
  double threshold = 0.5;
};
/// Predictions [N, classes, ...] with labels [N, ...], or one score for each label if there are two classes. Where a
/// quotient has no denominator it counts as 0.
MetricPtr precision(const ClassificationOptions& options = {});
MetricPtr recall(const ClassificationOptions& options = {});
MetricPtr f1(const ClassificationOptions& options = {});

/// By name: "accuracy", "top_k_accuracy" {k}, "binary_accuracy" {threshold}, "loss", "mae", "mse", "rmse", "mape",
/// "r2", "auc", "pr_auc", "mean_average_precision", "hit_ratio" and "ndcg" {k, candidates}, "precision", "recall" and
/// "f1" {num_classes, threshold, macro, micro}. An unknown name or option throws and lists those there are.
MetricPtr make_metric(const std::string& name, const std::map<std::string, double>& options = {});
std::vector<std::string> metric_names();

/// As make_metric(name), for a model with this output that is trained with the loss of this name ("": none is known).
/// Where a row of the output is one score, which tells two classes apart, "accuracy" is that of the two, and metrics
/// that decide between them do so where the loss does: at 0 for logits and without a loss, else at a half.
MetricPtr fitting_metric(const std::string& name, const std::string& loss, const Shape& output);

}  // namespace thalweg::metrics
