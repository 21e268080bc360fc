// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features.h"

#include <gtest/gtest.h>

#include <set>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

using testing::error_text;

std::vector<Column> people() {
  return {{"city", std::vector<std::string>{"Oslo", "Bern", "Oslo", "Rome"}},
          {"age", std::vector<int64_t>{20, 30, 40, 50}},
          {"height", std::vector<double>{1.5, 1.75, 2.0, 1.75}}};
}

std::vector<float> values(const std::vector<Column>& columns, const std::string& name) {
  const Tensor tensor = to_tensor(columns, {name});
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

Features everything() {
  return Features({CrossHash{{"city", "age"}, "city_age", 50}, StringIndex{"city"}, OneHot{"city"},
                   MinMaxScale{"height"}, StandardScale{"age"}});
}

TEST(Features, FitLearnsAndChanges) {
  std::vector<Column> columns = people();
  Features features = everything();
  features.fit(columns);
  EXPECT_EQ(values(columns, "city_0"), (std::vector<float>{0, 1, 0, 0})) << "Bern";
  EXPECT_EQ(values(columns, "city_1"), (std::vector<float>{1, 0, 1, 0})) << "Oslo";
  EXPECT_EQ(values(columns, "height"), (std::vector<float>{0, 0.5, 1, 0.5}));
  EXPECT_NEAR(values(columns, "age")[0], -1.3416, 1e-4);
  for (const float bucket : values(columns, "city_age")) {
    EXPECT_GE(bucket, 0);
    EXPECT_LT(bucket, 50);
  }
}

TEST(Features, OtherTablesAreChangedInTheSameWayAlsoThroughJson) {
  std::vector<Column> training = people();
  Features features = everything();
  features.fit(training);
  const Features back = Features::from_json(features.to_json());
  EXPECT_EQ(back.to_json(), features.to_json());
  std::vector<Column> other = {{"city", std::vector<std::string>{"Oslo", "Wien"}},
                               {"age", std::vector<int64_t>{35, 20}},
                               {"height", std::vector<double>{1.5, 2.5}}};
  back.apply(other);
  EXPECT_EQ(values(other, "city_1"), (std::vector<float>{1, 0}));
  EXPECT_EQ(values(other, "city_2"), (std::vector<float>{0, 0})) << "never seen: no column is 1";
  EXPECT_EQ(values(other, "height"), (std::vector<float>{0, 2}));
  EXPECT_EQ(values(other, "age")[0], 0);
}

TEST(Features, HashesSpreadAndAreTheSameEverywhere) {
  std::vector<std::string> words;
  for (int i = 0; i < 1000; ++i) words.push_back("word" + std::to_string(i));
  std::vector<Column> columns = {{"word", words}};
  Features({HashBucket{"word", 1000}}).apply(columns);
  const auto& buckets = std::get<std::vector<int64_t>>(columns[0].values);
  EXPECT_GT(std::set<int64_t>(buckets.begin(), buckets.end()).size(), 580U) << "63% of the buckets by chance";
  EXPECT_EQ(buckets[0], 820) << "computed apart from this code";
}

TEST(Features, AConstantColumnBecomesZero) {
  std::vector<Column> columns = {{"x", std::vector<double>{3, 3}}};
  Features({StandardScale{"x"}}).fit(columns);
  EXPECT_EQ(values(columns, "x"), (std::vector<float>{0, 0}));
}

TEST(Features, WhatIsWrongIsNamed) {
  std::vector<Column> columns = people();
  EXPECT_EQ(error_text([&] { Features({MinMaxScale{"hieght"}}).fit(columns); }),
            "there is no column 'hieght'; near: height, age, city");
  EXPECT_EQ(error_text([&] { Features({MinMaxScale{"city"}}).fit(columns); }),
            "column 'city' holds text: index or hash it first");
  EXPECT_EQ(error_text([&] { to_tensor(columns, {"height"}, DType::kI64); }),
            "column 'height' does not hold whole numbers");
  EXPECT_NE(error_text([] { Features::from_json("[{}]"); }), "no error");
  EXPECT_EQ(
      error_text([] { Features::from_json(R"([{"kind": "one_hat"}])"); }).rfind("there is no feature 'one_hat'", 0),
      0U);
}

}  // namespace
}  // namespace thalweg::data
