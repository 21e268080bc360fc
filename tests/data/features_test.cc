// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
}

TEST(Features, NumbersThatAreNotFiniteAreNamedWhileFitting) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Column> columns = {{"x", std::vector<double>{1, nan, 3}},
                                       {"y", std::vector<double>{1, 2, -std::numeric_limits<double>::infinity()}}};
  for (const Feature& feature : std::vector<Feature>{MinMaxScale{"x"}, StandardScale{"x"}, OneHot{"x"}}) {
    EXPECT_EQ(error_text([&] {
                std::vector<Column> some = columns;
                Features({feature}).fit(some);
              }),
              "column 'x' holds nan in row 1: leave such rows out or fill them");
  }
  EXPECT_EQ(error_text([&] {
              std::vector<Column> some = columns;
              Features({StandardScale{"y"}}).fit(some);
            }),
            "column 'y' holds -inf in row 2: leave such rows out or fill them");
}

TEST(Features, JsonOfAHostileFileIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"([{}])", "kind"},
      {R"({"kind": "one_hot"})", "is no JSON list"},
      {R"([{"kind": "one_hat"}])", "there is no feature 'one_hat'"},
      {R"([{"kind": "one_hot", "column": "x", "szie": 3}])", "one_hot: unknown key 'szie'; near: size"},
      {R"([{"kind": "one_hot", "column": "x", "size": 9000000000000000000}])", "one_hot: size must be in [0, 1000000]"},
      {R"([{"kind": "one_hot", "column": "x", "size": 2.5}])", "one_hot: size cannot be 2.5"},
      {R"([{"kind": "one_hot", "size": 3}])", "one_hot: needs a column"},
      {R"([{"kind": "hash_bucket", "column": "x", "buckets": 0}])", "hash_bucket: buckets must be positive"},
      {R"([{"kind": "cross_hash", "columns": [], "name": "x"}])", "cross_hash: needs columns"},
      {R"([{"kind": "min_max_scale", "column": "x", "low": 2, "high": 1}])", "min_max_scale: low and high"},
      {R"([{"kind": "standard_scale", "column": "x", "deviation": -1}])", "standard_scale: mean and deviation"},
      {R"([{"kind": "string_index", "column": "x", "categories": ["a", "a"]}])", "a category occurs twice"},
      {R"([{"kind": "string_index", "column": "x", "min_count": 0}])", "min_count must be positive"},
      {R"([{"kind": "quantile_bin", "column": "x", "bins": 1}])", "bins must be in [2, 100000]"},
      {R"([{"kind": "quantile_bin", "column": "x", "edges": [2, 1]}])", "edges must be numbers, each larger"},
      {R"([{"kind": "power", "column": "x", "exponent": 0}])", "exponent must be a positive number"},
      {R"([{"kind": "date_parts", "column": "x", "parts": ["moon"]}])", "parts are among year, month"},
      {R"([{"kind": "date_parts", "column": "x", "parts": []}])", "needs parts"},
      {R"([{"kind": "impute", "column": "x", "with": "mode"}])", "impute: with cannot be \"mode\""},
      {R"([{"kind": "impute", "column": "x", "with": "mean", "value": "a"}])", "a text is no mean and no median"},
      {R"([{"kind": "impute", "column": "x", "value": true}])", "must be number"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_NE(error_text([&, text = json] { Features::from_json(text); }).find(expected), std::string::npos)
        << json << ": " << error_text([&, text = json] { Features::from_json(text); });
  }
  EXPECT_NE(error_text([] { Features({StringIndex{"x", {"\xff"}}}).to_json(); }).find("not UTF-8"), std::string::npos);
}

TEST(Features, OneHotAsksForNoMoreThanMemoryHolds) {
  std::vector<Column> columns = {{"x", std::vector<int64_t>(3000)}};
  EXPECT_EQ(error_text([&] {
              Features({OneHot{"x", 1000000}}).apply(columns);
            }),
            "one_hot of column 'x': 3000 rows of 1000000 columns are too many at once");
  EXPECT_EQ(error_text([&] { Features({OneHot{"x"}}).apply(columns); }),
            "one_hot of column 'x' has no size: it was not fitted to any class");
}

TEST(Features, CategoriesInAnyOrderKeepTheirNumbers) {
  std::vector<Column> columns = {{"city", std::vector<std::string>{"Oslo", "Bern", "Wien"}}};
  Features({StringIndex{"city", {"Rome", "Oslo", "Bern"}}}).apply(columns);
  EXPECT_EQ(values(columns, "city"), (std::vector<float>{1, 2, 3}));
}

TEST(Features, OnlyWhatAColumnComesFromIsNeeded) {
  const Features features({CrossHash{{"city", "hour"}, "city_hour", 50}, StringIndex{"city"}, OneHot{"city", 3},
                           MinMaxScale{"height"}, StringIndex{"label"}});
  using Names = std::vector<std::string>;
  const auto sorted = [](Names names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_EQ(sorted(features.sources()), (Names{"city", "height", "hour", "label"}));
  const Names wanted = {"city_2", "height", "age"};
  EXPECT_EQ(features.for_columns(wanted).features().size(), 3U) << "index, one-hot, scale";
  EXPECT_EQ(sorted(features.for_columns(wanted).sources(wanted)), (Names{"age", "city", "height"}));
  const Names crossed = {"city_hour"};
  EXPECT_EQ(features.for_columns(crossed).features().size(), 1U) << "what comes later does not concern it";
  EXPECT_EQ(sorted(features.for_columns(crossed).sources(crossed)), (Names{"city", "hour"}));
  EXPECT_TRUE(features.for_columns({"city_3"}).features().empty()) << "one-hot makes city_0 to city_2";
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using With = Impute::With;

std::vector<Column> with_gaps() {
  return {{"fare", std::vector<double>{4, kNan, 1, 1, 2}},
          {"age", std::vector<int64_t>{20, 0, 30, 25, 30}, {false, true, false, false, false}},
          {"city", std::vector<std::string>{"Rome", "Oslo", "", "Oslo", "Rome"}, {false, false, true, false, false}}};
}

TEST(Features, MissingValuesAreFilledByWhatWasLearned) {
  const std::vector<std::pair<With, float>> fares = {
      {With::kMean, 2.0F}, {With::kMedian, 1.5F}, {With::kMostFrequent, 1.0F}};
  for (const auto& [with, expected] : fares) {
    std::vector<Column> columns = with_gaps();
    Features features({Impute{"fare", with}});
    features.fit(columns);
    EXPECT_EQ(values(columns, "fare"), (std::vector<float>{4, expected, 1, 1, 2}));
    std::vector<Column> other = {{"fare", std::vector<double>{7, 8}, {false, true}}};
    Features::from_json(features.to_json()).apply(other);
    EXPECT_EQ(values(other, "fare"), (std::vector<float>{7, expected}));
  }
}

TEST(Features, TextsAndWholeNumbersKeepTheirKind) {
  std::vector<Column> columns = with_gaps();
  Features features({Impute{.column = "city", .with = With::kMostFrequent, .indicator = true},
                     Impute{"age", With::kMostFrequent}, StringIndex{"city"}, StringIndex{"age"}});
  features.fit(columns);
  EXPECT_EQ(values(columns, "city"), (std::vector<float>{1, 0, 0, 0, 1})) << "Oslo and Rome are equally frequent";
  EXPECT_EQ(values(columns, "city_missing"), (std::vector<float>{0, 0, 1, 0, 0}));
  EXPECT_EQ(values(columns, "age"), (std::vector<float>{0, 2, 2, 1, 2}));
}

TEST(Features, AWholeColumnFilledWithAFractionIsAlwaysOneOfFractions) {
  Features features({Impute{"age", With::kMean}});
  std::vector<Column> columns = with_gaps();
  features.fit(columns);
  EXPECT_EQ(values(columns, "age"), (std::vector<float>{20, 26.25, 30, 25, 30}));
  std::vector<Column> complete = {{"age", std::vector<int64_t>{3}}};
  features.apply(complete);
  EXPECT_TRUE(std::holds_alternative<std::vector<double>>(complete[0].values));
}

TEST(Features, AConstantNeedsNoFit) {
  std::vector<Column> columns = with_gaps();
  Features({Impute{"city", With::kConstant, "nowhere"}, Impute{"fare", With::kConstant, -1.0}}).apply(columns);
  EXPECT_EQ(std::get<std::vector<std::string>>(columns[2].values)[2], "nowhere");
  EXPECT_EQ(values(columns, "fare")[1], -1);
}

TEST(Features, WhatCannotBeFilledIsTold) {
  const auto fitting = [](const Features& features) {
    return error_text([&] {
      std::vector<Column> columns = with_gaps();
      Features(features).fit(columns);
    });
  };
  EXPECT_EQ(
      fitting(Features({StringIndex{"city"}})),
      "column 'city' has no value in row 2: fill such values first (a feature of kind impute), or leave the rows out");
  EXPECT_EQ(fitting(Features({Impute{"city", With::kMedian}})),
            "impute: column 'city' holds text, which has no mean or median: with most_frequent or constant");
  EXPECT_EQ(fitting(Features({Impute{"city", With::kConstant, 3.0}})),
            "impute: column 'city' holds text, and a number is to fill it");
  EXPECT_EQ(fitting(Features({Impute{"age", With::kConstant, "none"}})),
            "impute: column 'age' holds numbers, and a text is to fill it");
  EXPECT_EQ(error_text([] {
              std::vector<Column> empty = {{"x", std::vector<double>{kNan, kNan}}};
              Features({Impute{"x", With::kMean}}).fit(empty);
            }),
            "column 'x' has no rows to fit to");
  EXPECT_EQ(
      error_text([] { to_tensor(with_gaps(), {"age"}); }),
      "column 'age' has no value in row 1: fill such values first (a feature of kind impute), or leave the rows out");
}

TEST(Features, ColumnsThatMayLackValuesAreThoseImputedFirst) {
  const Features features({Impute{.column = "fare", .with = With::kMean, .indicator = true}, StandardScale{"fare"},
                           CrossHash{{"city", "age"}, "both"}, Impute{"age", With::kMedian},
                           Impute{"both", With::kMean}});
  using Names = std::vector<std::string>;
  EXPECT_EQ(features.imputed(), Names{"fare"}) << "age is crossed before, and crossing makes both";
  EXPECT_EQ(features.for_columns({"fare_missing"}).sources({"fare_missing"}), Names{"fare"});
  EXPECT_EQ(features.for_columns({"fare_missing"}).features().size(), 1U) << "the scale does not concern it";
}

TEST(Features, RareTextsAreLeftOut) {
  const std::vector<std::string> cities = {"Rome", "Oslo", "Lima", "Oslo", "Rome", "Bern", "Oslo"};
  const auto kept = [&](StringIndex index) {
    std::vector<Column> columns = {{"city", cities}};
    Features features({std::move(index)});
    features.fit(columns);
    return std::get<StringIndex>(features.features()[0]).categories;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(kept({.column = "city", .min_count = 2}), (Names{"Oslo", "Rome"}));
  EXPECT_EQ(kept({.column = "city", .most = 3}), (Names{"Bern", "Oslo", "Rome"}))
      << "Bern and Lima are equally frequent";
  EXPECT_EQ(kept({.column = "city", .min_count = 2, .most = 1}), Names{"Oslo"});
}

TEST(Features, QuantileBinsHoldAsMuchEach) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back((i * 37) % 100);
  std::vector<Column> columns = {{"x", values}};
  Features features({QuantileBin{"x", 4}});
  features.fit(columns);
  EXPECT_EQ(std::get<QuantileBin>(features.features()[0]).edges, (std::vector<double>{24.75, 49.5, 74.25}));
  std::vector<int> counts(4);
  for (const float bin : ::thalweg::data::values(columns, "x")) ++counts[static_cast<size_t>(bin)];
  EXPECT_EQ(counts, (std::vector<int>{25, 25, 25, 25}));
  std::vector<Column> other = {{"x", std::vector<double>{-1e300, 24.75, 1e300}}};
  features.apply(other);
  EXPECT_EQ(::thalweg::data::values(other, "x"), (std::vector<float>{0, 1, 3}));
  std::vector<Column> same = {{"x", std::vector<double>(50, 7)}};
  Features one_value({QuantileBin{"x", 4}});
  one_value.fit(same);
  EXPECT_EQ(std::get<QuantileBin>(one_value.features()[0]).edges, std::vector<double>{7}) << "equal edges are one";
}

TEST(Features, CurvesKeepTheSign) {
  std::vector<Column> columns = {{"x", std::vector<double>{-8, 0, 8}}, {"y", std::vector<int64_t>{-3, 0, 3}}};
  Features({Power{"x", 1.0 / 3}, Log{"y"}}).apply(columns);
  const std::vector<float> roots = values(columns, "x"), logs = values(columns, "y");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(roots[i], (std::vector<float>{-2, 0, 2})[i], 1e-6);
    EXPECT_NEAR(logs[i], (std::vector<double>{-std::log(4), 0, std::log(4)})[i], 1e-6);
  }
}

TEST(Features, DatesHaveParts) {
  const std::vector<std::string> parts = {"year", "month", "day", "weekday", "day_of_year", "hour", "minute"};
  const std::vector<std::string> texts = {"1970-01-01", "2024-02-29T23:59:58Z", "1969-12-31 00:01",
                                          "2026-11-19 12:30:00.125"};
  const std::vector<int64_t> seconds = {0, 1709251198, -86340, 1795091400};
  const std::vector<std::vector<float>> expected = {
      {1970, 2024, 1969, 2026}, {1, 2, 12, 11}, {1, 29, 31, 19}, {3, 3, 2, 3},
      {1, 60, 365, 323},        {0, 23, 0, 12}, {0, 59, 1, 30}};
  for (const Column& given : {Column{"when", texts}, Column{"when", seconds}}) {
    std::vector<Column> columns = {given};
    Features({DateParts{"when", parts}}).apply(columns);
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(values(columns, "when_" + parts[i]), expected[i]) << parts[i];
    EXPECT_EQ(columns.size(), parts.size()) << "the column itself is gone";
  }
  EXPECT_EQ(Features({DateParts{"when"}, MinMaxScale{"when_year"}}).sources({"when_year"}),
            std::vector<std::string>{"when"});
}

TEST(Features, WhatIsNoDateIsNamed) {
  for (const char* text : {"", "2026", "2026-13-01", "2026-02-30", "2026-03-01T", "2026-03-01 25:00", "2026-03-01 12:5",
                           "-026-03-01", "2026-03-01 12:30+02:00", "01.03.2026"}) {
    std::vector<Column> columns = {{"when", std::vector<std::string>{"2026-03-01", text}}};
    EXPECT_NE(error_text([&] {
                Features({DateParts{"when"}}).apply(columns);
              }).find(" in row 1, which is no date as 2026-03-01"),
              std::string::npos)
        << text;
  }
  std::vector<Column> columns = {{"when", std::vector<double>{1e20}}};
  EXPECT_EQ(error_text([&] { Features({DateParts{"when"}}).apply(columns); }),
            "column 'when' holds 1e+20 in row 0, which is no number of seconds since 1970 in the years 0 to 9999");
}

}  // namespace
}  // namespace thalweg::data
