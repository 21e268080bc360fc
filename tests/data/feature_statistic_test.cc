// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "data/features/statistic.h"
#include "support/error_text.h"

namespace thalweg::data {
namespace {

using With = Impute::With;

/// Rows of every kind of column: a part of them, or all.
std::vector<Column> rows(size_t begin, size_t end) {
  std::vector<double> fares;
  std::vector<int64_t> ages;
  std::vector<std::string> cities;
  std::vector<bool> missing;
  for (size_t row = begin; row < end; ++row) {
    fares.push_back(1e6 + static_cast<double>((row * 7) % 23) / 8);
    ages.push_back(static_cast<int64_t>((row * 5) % 11));
    cities.push_back(row % 3 == 0 ? "Oslo" : row % 3 == 1 ? "Rome" : "Lima");
    missing.push_back(row % 4 == 0);
  }
  return {{"fare", fares, missing}, {"complete", fares}, {"age", ages}, {"city", cities}};
}

std::string learned(const Feature& feature, const FeatureStatistic& statistic) {
  Feature taught = feature;
  statistic.teach(taught);
  return Features({taught}).to_json();
}

TEST(FeatureStatistic, PartsLearnWhatTheWholeLearns) {
  const std::vector<Feature> kinds = {StringIndex{"city"},
                                      MinMaxScale{"complete"},
                                      OneHot{"age"},
                                      QuantileBin{"complete", 5},
                                      Impute{"fare", With::kMedian},
                                      Impute{"fare", With::kMostFrequent},
                                      Impute{"city", With::kMostFrequent}};
  for (const Feature& feature : kinds) {
    const auto whole = statistic_for(feature);
    whole->see(rows(0, 100));
    const auto merged = statistic_for(feature);
    for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{{0, 17}, {17, 17}, {17, 60}, {60, 100}}) {
      const auto part = statistic_for(feature);
      part->see(rows(begin, end));
      // As it would travel.
      merged->merge(nlohmann::json::parse(part->state().dump()));
    }
    EXPECT_EQ(learned(feature, *merged), learned(feature, *whole));
  }
}

TEST(FeatureStatistic, DeviationsOfPartsKeepTheirDigitsBesideALargeMean) {
  const auto merged = statistic_for(StandardScale{"complete"});
  for (size_t begin = 0; begin < 100; begin += 20) {
    const auto part = statistic_for(StandardScale{"complete"});
    part->see(rows(begin, begin + 20));
    merged->merge(part->state());
  }
  Feature feature = StandardScale{"complete"};
  merged->teach(feature);
  const std::vector<Column> columns = rows(0, 100);
  const auto& values = std::get<std::vector<double>>(columns[1].values);
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / 100;
  for (const double value : values) squares += (value - mean) * (value - mean) / 100;
  EXPECT_NEAR(std::get<StandardScale>(feature).mean, mean, 1e-6);
  EXPECT_NEAR(std::get<StandardScale>(feature).deviation, std::sqrt(squares), 1e-9);
}

TEST(FeatureStatistic, WhatLearnsNothingHasNone) {
  EXPECT_EQ(statistic_for(HashBucket{"city"}), nullptr);
  EXPECT_EQ(statistic_for(OneHot{"age", 3}), nullptr);
  EXPECT_EQ(statistic_for(Impute{"fare", With::kConstant}), nullptr);
  const auto empty = statistic_for(MinMaxScale{"fare"});
  Feature feature = MinMaxScale{"fare"};
  EXPECT_EQ(testing::error_text([&] { empty->teach(feature); }), "column 'fare' has no rows to fit to");
}

}  // namespace
}  // namespace thalweg::data
