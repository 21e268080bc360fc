// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "thalweg/c_scores.h"

namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int64_t kTwoClasses[] = {2};

struct Scores {
  Scores(const char* metrics, const char* loss) : Scores(metrics, loss, {2}) {}
  Scores(const char* metrics, const char* loss, std::vector<int64_t> row) {
    EXPECT_EQ(tw_scores_create(metrics, loss, row.data(), static_cast<int32_t>(row.size()), &scores), TW_OK)
        << tw_last_error();
  }
  ~Scores() { tw_scores_free(scores); }
  Scores(const Scores&) = delete;
  Scores& operator=(const Scores&) = delete;

  /// Rows of two classes.
  tw_status add(std::vector<float> output, std::vector<int64_t> target) const {
    const int64_t rows[] = {static_cast<int64_t>(target.size()), 2};
    const tw_tensor predicted = {TW_F32, 2, rows, output.data()};
    const tw_tensor wanted = {TW_I64, 1, rows, target.data()};
    return tw_scores_add(scores, &predicted, &wanted);
  }
  json values() const {
    tw_result* result = nullptr;
    EXPECT_EQ(tw_scores_values(scores, &result), TW_OK) << tw_last_error();
    json parsed = json::parse(tw_result_text(result));
    tw_result_free(result);
    return parsed;
  }
  std::vector<double> state() const {
    tw_result* result = nullptr;
    EXPECT_EQ(tw_scores_state(scores, &result), TW_OK) << tw_last_error();
    tw_tensor tensor = {};
    EXPECT_EQ(tw_result_tensor(result, 0, &tensor), TW_OK);
    const auto* begin = static_cast<const double*>(tensor.data);
    std::vector<double> numbers(begin, begin + tensor.dims[0]);
    tw_result_free(result);
    return numbers;
  }

  tw_scores* scores = nullptr;
};

TEST(CScores, PiecesPutTogetherAreTheWhole) {
  const Scores whole("accuracy,auc", "cross_entropy"), first("accuracy,auc", "cross_entropy"),
      second("accuracy,auc", "cross_entropy");
  EXPECT_EQ(whole.add({2, 0, 0, 1, 3, 0}, {0, 1, 1}), TW_OK) << tw_last_error();
  EXPECT_EQ(first.add({2, 0}, {0}), TW_OK);
  EXPECT_EQ(second.add({0, 1, 3, 0}, {1, 1}), TW_OK);
  const std::vector<double> state = second.state();
  EXPECT_EQ(tw_scores_merge(first.scores, state.data(), state.size()), TW_OK) << tw_last_error();
  const json expected = whole.values(), merged = first.values();
  EXPECT_NEAR(expected["accuracy"], 2.0 / 3.0, 1e-12);
  for (const char* name : {"accuracy", "auc", "loss"}) {
    EXPECT_NEAR(merged[name].get<double>(), expected[name].get<double>(), 1e-6) << name;
  }
  EXPECT_NEAR(expected["loss"],
              (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-1.0)) + std::log1p(std::exp(3.0))) / 3.0, 1e-5);
}

TEST(CScores, OneScoreDecidesBetweenTwoClassesWhereTheLossDoes) {
  for (const std::vector<int64_t>& row : {std::vector<int64_t>{}, std::vector<int64_t>{1}}) {
    for (const auto& [loss, wanted] : {std::pair("bce_with_logits", 1.0), std::pair("bce", 0.5)}) {
      const Scores scores("accuracy,recall", loss, row);
      std::vector<float> output = {0.7f, 0.2f};
      std::vector<float> target = {1, 1};
      const int64_t dims[] = {2, 1};
      const auto rank = static_cast<int32_t>(1 + row.size());
      const tw_tensor predicted = {TW_F32, rank, dims, output.data()};
      const tw_tensor labels = {TW_F32, rank, dims, target.data()};
      ASSERT_EQ(tw_scores_add(scores.scores, &predicted, &labels), TW_OK) << tw_last_error();
      EXPECT_EQ(scores.values()["accuracy"], wanted) << loss;
      EXPECT_EQ(scores.values()["recall"], wanted) << loss;
    }
  }
}

TEST(CScores, NothingAddedIsNull) { EXPECT_TRUE(Scores("accuracy", nullptr).values()["accuracy"].is_null()); }

TEST(CScores, WhatIsWrongIsNamed) {
  tw_scores* made = nullptr;
  EXPECT_EQ(tw_scores_create("acuracy", nullptr, kTwoClasses, 1, &made), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("acuracy"));
  EXPECT_EQ(tw_scores_create("accuracy", nullptr, nullptr, 1, &made), TW_ERROR);
  EXPECT_EQ(tw_scores_create("accuracy", nullptr, kTwoClasses, -1, &made), TW_ERROR);
  const Scores scores("accuracy", nullptr);
  EXPECT_EQ(scores.add({1, 0}, {5}), TW_ERROR);
  const double junk[] = {7, 1};
  EXPECT_EQ(tw_scores_merge(scores.scores, junk, 2), TW_ERROR);
  EXPECT_EQ(tw_scores_merge(scores.scores, junk, 0), TW_ERROR);
}

TEST(CScores, TellWhatALossTakes) {
  const auto targets = [](const char* loss, std::vector<int64_t> dims) {
    tw_result* result = nullptr;
    EXPECT_EQ(tw_scores_targets(loss, dims.data(), static_cast<int32_t>(dims.size()), &result), TW_OK)
        << tw_last_error();
    json parsed = json::parse(tw_result_text(result));
    tw_result_free(result);
    return parsed;
  };
  EXPECT_EQ(targets("cross_entropy", {3})[0]["classes"]["count"], 3);
  EXPECT_EQ(targets("cross_entropy", {3})[0]["shape"], json::array());
  EXPECT_EQ(targets("mse", {2})[0], json({{"dtype", "f32"}, {"shape", {2}}}));
  tw_result* result = nullptr;
  EXPECT_NE(tw_scores_targets("none", nullptr, 0, &result), TW_OK);
  EXPECT_THAT(tw_last_error(), HasSubstr("unknown loss 'none'"));
}

}  // namespace
