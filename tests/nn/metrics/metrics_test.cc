// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/error_text.h"

namespace thalweg::metrics {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using thalweg::testing::error_text;

Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::from<float>(std::move(shape), values); }

Tensor labels(const std::vector<int64_t>& values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

Tensor filled(Shape shape, const std::function<double(int64_t)>& value) {
  Tensor result(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    result.data<float>()[i] = static_cast<float>(value(i));
  }
  return result;
}

// The same numbers were given to scikit-learn 1.x, whose answers stand in the tests "FollowsScikitLearn".
constexpr int64_t kRows = 500;
constexpr int64_t kClasses = 5;

Tensor binary_scores() {
  return filled({kRows}, [](int64_t i) { return static_cast<double>(i * 7919 % 101) / 8.0; });
}

Tensor binary_labels() {
  return filled({kRows}, [](int64_t i) { return i * i * 31 % 11 < 4 ? 1.0 : 0.0; });
}

Tensor class_scores() {
  return filled({kRows, kClasses}, [](int64_t i) {
    const int64_t a = i / kClasses, c = i % kClasses;
    return static_cast<double>((a * 131 + c * 977 + a * c * 13) % 211) / 7.0;
  });
}

Tensor class_labels() {
  return filled({kRows}, [](int64_t i) { return static_cast<double>((i * i * 7 + 3 * i) % 5); });
}

double value_over(const MetricPtr& metric, const Tensor& predictions, const Tensor& wanted) {
  metric->reset();
  metric->add(predictions, wanted);
  return metric->value();
}

TEST(Metrics, FollowsScikitLearn) {
  EXPECT_NEAR(value_over(auc(), binary_scores(), binary_labels()), 0.49945175438596495, 1e-12);
  EXPECT_NEAR(value_over(pr_auc(), binary_scores(), binary_labels()), 0.45859142553926824, 1e-12);
  EXPECT_NEAR(value_over(mean_average_precision(), class_scores(), class_labels()), 0.3318262285435126, 1e-12);
  EXPECT_NEAR(value_over(accuracy(), class_scores(), class_labels()), 0.228, 1e-12);
  EXPECT_NEAR(value_over(top_k_accuracy(3), class_scores(), class_labels()), 0.602, 1e-12);
  const ClassificationOptions macro = {.num_classes = 5, .average = Average::kMacro};
  EXPECT_NEAR(value_over(precision(macro), class_scores(), class_labels()), 0.19849821869005208, 1e-12);
  EXPECT_NEAR(value_over(recall(macro), class_scores(), class_labels()), 0.132, 1e-12);
  EXPECT_NEAR(value_over(f1(macro), class_scores(), class_labels()), 0.15753796255344241, 1e-12);
  const ClassificationOptions micro = {.num_classes = 5, .average = Average::kMicro};
  EXPECT_NEAR(value_over(f1(micro), class_scores(), class_labels()), 0.228, 1e-12);
  const ClassificationOptions binary = {.threshold = 6.0};
  EXPECT_NEAR(value_over(precision(binary), binary_scores(), binary_labels()), 0.45525291828793774, 1e-12);
  EXPECT_NEAR(value_over(recall(binary), binary_scores(), binary_labels()), 0.51315789473684215, 1e-12);
  EXPECT_NEAR(value_over(f1(binary), binary_scores(), binary_labels()), 0.48247422680412372, 1e-12);
}

TEST(Metrics, NdcgFollowsScikitLearn) {
  const Tensor scores =
      filled({40, 20}, [](int64_t i) { return static_cast<double>((i / 20 * 37 + i % 20 * 101) % 997) / 3.0; });
  const Tensor relevant = filled({40, 20}, [](int64_t i) { return (i / 20 * 3 + i % 20 * 7) % 6 == 0 ? 1.0 : 0.0; });
  EXPECT_NEAR(value_over(ndcg(5), scores, relevant), 0.20516772250751295, 1e-12);
}

/// sklearn.metrics of 1.9 gave the figures.
TEST(Metrics, RegressionFollowsScikitLearn) {
  const Tensor predictions = floats({5, 1}, {2.5F, 0, 2, 8, 1e6F}), wanted = floats({5}, {3, -0.5F, 2, 7, 999990});
  EXPECT_NEAR(value_over(root_mean_squared_error(), predictions, wanted), 4.505552130427524, 1e-12);
  EXPECT_NEAR(value_over(mean_absolute_percentage_error(), predictions, wanted), 0.2619067619247621, 1e-12);
  EXPECT_NEAR(value_over(coefficient_of_determination(), predictions, wanted), 0.9999999998731217, 1e-14);
  const Tensor rows = floats({3, 2}, {0, 2, -1, 2, 8, -5}), targets = floats({3, 2}, {0.5F, 1, -1, 1, 7, -6});
  EXPECT_NEAR(value_over(coefficient_of_determination(), rows, targets), 0.9368005266622779, 1e-12);
  const Tensor same = floats({2}, {4, 4});
  EXPECT_EQ(value_over(coefficient_of_determination(), same, same), 1);
  EXPECT_EQ(value_over(coefficient_of_determination(), floats({2}, {4, 5}), same), 0);
  EXPECT_THAT(error_text([&] {
                const MetricPtr metric = coefficient_of_determination();
                metric->add(rows, targets);
                metric->add(same, same);
              }),
              HasSubstr("rows of 1 numbers after rows of 2"));
}

/// Splitting into batches, or over two workers that merge, must not change anything.
TEST(Metrics, BatchesAndMergesAddUp) {
  for (const std::string& name : metric_names()) {
    const bool classes = name == "accuracy" || name == "top_k_accuracy" || name == "mean_average_precision";
    const bool ranking = name == "hit_ratio" || name == "ndcg";
    const Tensor scores = classes ? class_scores() : ranking ? binary_scores().reshaped({50, 10}) : binary_scores();
    const Tensor wanted = classes ? class_labels() : ranking ? binary_labels().reshaped({50, 10}) : binary_labels();
    const auto make = [&] {
      return make_metric(name, ranking                    ? std::map<std::string, double>{{"k", 3.0}}
                               : name == "top_k_accuracy" ? std::map<std::string, double>{{"k", 2.0}}
                                                          : std::map<std::string, double>{});
    };
    const MetricPtr whole = make(), parts = make(), other = make();
    whole->add(scores, wanted);
    const int64_t rows = scores.shape()[0];
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 7}, {7, 30}}) {
      parts->add(scores.rows(begin, end), wanted.rows(begin, end));
    }
    other->add(scores.rows(30, rows), wanted.rows(30, rows));
    parts->merge(other->state());
    EXPECT_NEAR(parts->value(), whole->value(), 1e-12) << name;
    EXPECT_FALSE(std::isnan(whole->value())) << name;
    EXPECT_TRUE(whole->value() > 0.0 || name == "r2") << name;
    EXPECT_NE(other->value(), whole->value()) << name;
    parts->reset();
    EXPECT_TRUE(std::isnan(parts->value())) << name;
    EXPECT_THAT(error_text([&] { parts->merge(std::vector<double>(5)); }), HasSubstr("5 values"));
  }
}

TEST(Metrics, AccuracyPerPixelAndIgnoredLabels) {
  // Two classes, 1 x 3 pixels: class 1 wins at the first and the last.
  const Tensor scores = floats({1, 2, 1, 3}, {0, 5, 0, 1, 4, 1});
  EXPECT_NEAR(value_over(accuracy(), scores, labels({1, 0, 0})), 2.0 / 3.0, 1e-15);
  EXPECT_NEAR(value_over(accuracy(-100), scores, labels({1, 0, -100})), 1.0, 1e-15);
}

TEST(Metrics, EqualScoresPreferTheLowerClass) {
  const Tensor same = floats({2, 3}, std::vector<float>(6, 1.0f));
  EXPECT_EQ(value_over(accuracy(), same, labels({0, 0})), 1.0);
  EXPECT_EQ(value_over(accuracy(), same, labels({1, 2})), 0.0);
  EXPECT_EQ(value_over(top_k_accuracy(2), same, labels({1, 2})), 0.5);
}

TEST(Metrics, NotANumberIsNeverRight) {
  const float nan = std::nanf("");
  EXPECT_EQ(value_over(accuracy(), floats({2, 2}, {nan, nan, 1.0f, nan}), labels({0, 0})), 0.0);
  EXPECT_EQ(value_over(binary_accuracy(), floats({2}, {nan, nan}), labels({0, 1})), 0.0);
  EXPECT_EQ(value_over(hit_ratio(1), floats({2, 2}, {nan, 1.0f, 1.0f, nan}), labels({0, 0})), 0.0);
  EXPECT_THAT(error_text([&] {
                auc()->add(floats({2}, {0.0f, nan}), labels({0, 1}));
              }),
              AllOf(HasSubstr("auc"), HasSubstr("row 1")));
}

TEST(Metrics, OneScoreDecidesBetweenTwoClassesWhereTheLossDoes) {
  const auto value = [](const std::string& name, const std::string& loss) {
    return value_over(fitting_metric(name, loss, {kFree, 1}), floats({2, 1}, {0.7f, 0.2f}), labels({1, 1}));
  };
  for (const char* name : {"accuracy", "binary_accuracy", "recall"}) {
    EXPECT_EQ(value(name, "bce_with_logits"), 1.0) << name;
    EXPECT_EQ(value(name, ""), 1.0) << name;
    EXPECT_EQ(value(name, "bce"), 0.5) << name;
  }
  EXPECT_EQ(fitting_metric("accuracy", "bce", {kFree})->name(), "accuracy");
  EXPECT_EQ(
      value_over(fitting_metric("accuracy", "cross_entropy", {kFree, 2}), floats({1, 2}, {0.1f, 0.9f}), labels({1})),
      1.0);
  EXPECT_EQ(fitting_metric("mse", "mse", {kFree, 1})->name(), "mse");
  EXPECT_THROW(fitting_metric("acuracy", "bce", {kFree, 1}), Error);
}

TEST(Metrics, BinaryAccuracyAndErrors) {
  EXPECT_EQ(value_over(binary_accuracy(), floats({4, 1}, {0.4f, 0.6f, 0.6f, 0.5f}), labels({0, 1, 0, 0})), 0.75);
  const Tensor predictions = floats({2, 2}, {1, 2, 3, 4});
  const Tensor wanted = floats({2, 2}, {0, 2, 5, 4});
  EXPECT_EQ(value_over(mean_absolute_error(), predictions, wanted), 0.75);
  EXPECT_EQ(value_over(mean_squared_error(), predictions, wanted), 1.25);
  EXPECT_FALSE(mean_absolute_error()->higher_is_better());
  EXPECT_TRUE(accuracy()->higher_is_better());
}

TEST(Metrics, LossWeighsBatchesByTheirRows) {
  const MetricPtr metric = mean_loss();
  metric->add(Tensor::scalar(1.0f), labels({1, 2, 3}));
  metric->add(Tensor::scalar(5.0f), labels({1}));
  EXPECT_EQ(metric->value(), 2.0);
  metric->reset();
  metric->add(floats({3}, {1, 2, 6}), labels({1, 2, 3}));
  EXPECT_EQ(metric->value(), 3.0);
}

TEST(Metrics, AucTakesTwoColumnsAndNeedsBothLabels) {
  const Tensor two = floats({3, 2}, {0.9f, 0.1f, 0.2f, 0.8f, 0.6f, 0.4f});
  EXPECT_EQ(value_over(auc(), two, labels({0, 1, 0})), 1.0);
  EXPECT_EQ(value_over(auc(), floats({2}, {1, 1}), labels({0, 1})), 0.5);
  EXPECT_TRUE(std::isnan(value_over(auc(), floats({2}, {1, 2}), labels({1, 1}))));
  EXPECT_TRUE(std::isnan(value_over(pr_auc(), floats({2}, {1, 2}), labels({0, 0}))));
}

TEST(Metrics, RankingByIndexAndFlat) {
  const Tensor scores = floats({2, 3}, {1, 3, 2, 9, 8, 7});
  EXPECT_EQ(value_over(hit_ratio(2), scores, labels({2, 2})), 0.5);
  EXPECT_NEAR(value_over(ndcg(2), scores, labels({2, 0})), (1.0 / std::log2(3.0) + 1.0) / 2.0, 1e-15);
  EXPECT_EQ(value_over(hit_ratio(1, 3), scores.reshaped({6}), labels({0, 1, 0, 0, 0, 0})), 1.0)
      << "the second group has nothing relevant";
  EXPECT_EQ(value_over(hit_ratio(1), floats({1, 3}, {1, 1, 1}), labels({0})), 0.0) << "ties count against";
}

TEST(Metrics, OneOfSeveralOutputs) {
  const MetricPtr metric = on_output(accuracy(), 2, 1);
  EXPECT_EQ(metric->name(), "accuracy.2");
  EXPECT_EQ(metric->output(), 2U);
  EXPECT_EQ(metric->target(), 1U);
  EXPECT_EQ(on_output(accuracy(), 1, 0, "side")->name(), "side");
}

TEST(MetricErrors, MeanAveragePrecisionNamesWhatDoesNotFit) {
  const MetricPtr metric = mean_average_precision();
  metric->add(floats({1, 2}, {0.1F, 0.9F}), labels({1}));
  EXPECT_THAT(error_text([&] { metric->add(floats({1, 3}, {0, 1, 2}), labels({1})); }), HasSubstr("3 classes"));
  EXPECT_THAT(error_text([&] { metric->add(floats({1, 2}, {0, 1}), labels({2})); }), HasSubstr("row 0"));
  EXPECT_THAT(error_text([&] { metric->add(floats({2}, {0, 1}), labels({2, 1})); }), HasSubstr("[N, classes]"));
  EXPECT_EQ(metric->value(), 1.0) << "what threw changed nothing";
}

TEST(Metrics, TwoColumnsForTwoClasses) {
  const Tensor scores = floats({3, 2}, {0.9f, 0.1f, 0.2f, 0.8f, 0.4f, 0.6f});
  EXPECT_EQ(value_over(precision(), scores, labels({0, 1, 0})), 0.5);
  EXPECT_EQ(value_over(recall(), scores, labels({0, 1, 0})), 1.0);
  EXPECT_EQ(value_over(f1(), scores, labels({0, 0, 0})), 0.0);
}

TEST(Metrics, AnyTypes) {
  const Tensor scores = floats({2, 2}, {0, 1, 1, 0}).to(DType::kBF16);
  EXPECT_EQ(value_over(accuracy(), scores, labels({1, 0}).to(DType::kU8)), 1.0);
}

TEST(MetricErrors, NameRowAndLabel) {
  const Tensor scores = floats({3, 2}, {0, 1, 1, 0, 0, 1});
  const MetricPtr metric = accuracy();
  metric->add(scores, labels({1, 0, 1}));
  EXPECT_THAT(error_text([&] {
                metric->add(scores, labels({1, 0, 2}));
              }),
              AllOf(HasSubstr("accuracy"), HasSubstr("row 2"), HasSubstr("label 2"), HasSubstr("2 classes")));
  EXPECT_THAT(error_text([&] { metric->add(scores, labels({-1, 0, 0})); }), HasSubstr("label -1"));
  EXPECT_EQ(metric->value(), 1.0) << "a refused batch changes nothing";
  EXPECT_THAT(error_text([&] {
                accuracy()->add(scores, floats({3}, {0, 0.5f, 0}));
              }),
              AllOf(HasSubstr("row 1"), HasSubstr("0.5")));
  EXPECT_THAT(error_text([&] { auc()->add(floats({2}, {0, 1}), labels({0, 3})); }), HasSubstr("label 3"));
  EXPECT_THAT(error_text([&] { f1()->add(scores, labels({0, 1, 7})); }), HasSubstr("label 7"));
  EXPECT_THAT(error_text([&] {
                ndcg(1)->add(floats({2, 2}, {1, 2, 3, 4}), labels({0, 2}));
              }),
              AllOf(HasSubstr("row 1"), HasSubstr("label 2")));
  EXPECT_THAT(error_text([&] { hit_ratio(1)->add(floats({1, 2}, {1, 2}), labels({0, 2})); }), HasSubstr("row 1"));
}

TEST(MetricErrors, NameShapes) {
  EXPECT_THAT(error_text([] {
                accuracy()->add(floats({2}, {0, 1}), labels({0, 1}));
              }),
              HasSubstr("[rows, classes, ...]"));
  EXPECT_THAT(error_text([] {
                accuracy()->add(floats({2, 1}, {0, 1}), labels({0}));
              }),
              AllOf(HasSubstr("[2,1]"), HasSubstr("2 labels")));
  EXPECT_THAT(error_text([] {
                mean_squared_error()->add(floats({2}, {0, 1}), labels({0}));
              }),
              AllOf(HasSubstr("mse"), HasSubstr("[2]"), HasSubstr("[1]")));
  EXPECT_THAT(error_text([] { auc()->add(floats({3}, {0, 1, 2}), labels({0})); }), HasSubstr("auc"));
  EXPECT_THAT(error_text([] { hit_ratio(1)->add(floats({4}, {0, 1, 2, 3}), labels({0})); }), HasSubstr("candidates"));
  EXPECT_THAT(error_text([] {
                hit_ratio(1, 3)->add(floats({4}, {0, 1, 2, 3}), labels({0}));
              }),
              HasSubstr("whole groups of 3"));
  EXPECT_THAT(error_text([] { accuracy()->add(Tensor(), Tensor()); }), HasSubstr("no predictions"));
  EXPECT_THAT(error_text([] {
                f1({.num_classes = 4, .average = Average::kMacro})->add(floats({1, 3}, {1, 2, 3}), labels({0}));
              }),
              HasSubstr("3 classes, not 4"));
}

TEST(MetricErrors, NamesAndOptions) {
  EXPECT_THAT(error_text([] { make_metric("acuracy"); }),
              AllOf(HasSubstr("\"acuracy\""), HasSubstr("accuracy, top_k_accuracy")));
  EXPECT_THAT(error_text([] {
                make_metric("ndcg", {{"n", 1.0}});
              }),
              AllOf(HasSubstr("ndcg has no option \"n\""), HasSubstr("k, candidates")));
  EXPECT_THAT(error_text([] { make_metric("auc", {{"n", 1.0}}); }), HasSubstr("it has none"));
  EXPECT_THAT(error_text([] { make_metric("ndcg", {{"k", 1.5}}); }), HasSubstr("whole number"));
  EXPECT_THAT(error_text([] { make_metric("ndcg", {{"k", 0.0}}); }), HasSubstr("k is 0"));
  EXPECT_THAT(error_text([] { make_metric("f1", {{"num_classes", 3.0}}); }), HasSubstr("macro"));
  EXPECT_EQ(make_metric("top_k_accuracy", {{"k", 5.0}})->name(), "top5_accuracy");
  EXPECT_EQ(make_metric("ndcg")->name(), "ndcg@10");
}

}  // namespace
}  // namespace thalweg::metrics
