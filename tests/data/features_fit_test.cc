// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using Names = std::vector<std::string>;
using With = Impute::With;

/// Some of a hundred rows.
std::vector<Column> rows(size_t begin, size_t end) {
  std::vector<double> fares, heights;
  Names cities, streets;
  for (size_t row = begin; row < end; ++row) {
    fares.push_back(row % 5 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>((row * 7) % 23));
    heights.push_back(static_cast<double>(row % 13) / 4);
    cities.push_back(row % 3 == 0 ? "Oslo" : row % 3 == 1 ? "Rome" : "Lima");
    streets.push_back("street " + std::to_string(row % 7));
  }
  return {{"fare", fares}, {"height", heights}, {"city", cities}, {"street", streets}};
}

std::vector<Feature> everything() {
  return {Impute{.column = "fare", .with = With::kMedian, .indicator = true},
          StandardScale{"fare"},
          CrossHash{{"city", "street"}, "both", 9},
          StringIndex{"city"},
          OneHot{"city"},
          MinMaxScale{"height"},
          HashBucket{"street", 4},
          OneHot{"street"},
          OneHot{"both"}};
}

/// Passes over the rows in four places, as they would be made on as many machines.
int fit_in_places(FeaturesFit& fit) {
  int passes = 0;
  for (; !fit.is_done(); ++passes) {
    for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{{0, 30}, {30, 31}, {31, 31}, {31, 100}}) {
      FeaturesFit there = FeaturesFit::from_json(fit.to_json());
      std::vector<Column> asked_for = rows(begin, end);
      std::erase_if(asked_for, [&](const Column& column) {
        return std::find(there.sources().begin(), there.sources().end(), column.name) == there.sources().end();
      });
      there.see(std::move(asked_for));
      fit.merge(there.state());
    }
    fit.end_pass();
  }
  return passes;
}

TEST(FeaturesFit, PlacesLearnWhatOneTableTeaches) {
  Features whole(everything());
  std::vector<Column> columns = rows(0, 100);
  whole.fit(columns);
  FeaturesFit fit{Features(everything())};
  EXPECT_EQ(fit_in_places(fit), 2) << "the scale of the fare waits for what fills its gaps; nothing else does";
  std::vector<Column> by_whole = rows(0, 10), by_fit = rows(0, 10);
  whole.apply(by_whole);
  fit.features().apply(by_fit);
  ASSERT_EQ(by_fit.size(), by_whole.size());
  for (size_t i = 0; i < by_fit.size(); ++i) {
    EXPECT_EQ(by_fit[i].name, by_whole[i].name);
    const Tensor left = to_tensor(by_fit, {by_fit[i].name}), right = to_tensor(by_whole, {by_fit[i].name});
    for (int64_t row = 0; row < 10; ++row) EXPECT_NEAR(left.data<float>()[row], right.data<float>()[row], 1e-5);
  }
}

TEST(FeaturesFit, APassAsksForWhatItLearnsOfAlone) {
  FeaturesFit fit{Features(everything())};
  EXPECT_EQ(fit.sources(), (Names{"fare", "city", "height", "street"}));
  fit.see(rows(0, 100));
  fit.end_pass();
  EXPECT_FALSE(fit.is_done());
  EXPECT_EQ(fit.sources(), Names{"fare"});
}

TEST(FeaturesFit, WhatNeedsNoRowsIsDoneAtOnce) {
  EXPECT_TRUE(FeaturesFit(Features({HashBucket{"street"}, OneHot{"street", 4}})).is_done());
  EXPECT_TRUE(FeaturesFit(Features()).is_done());
}

TEST(FeaturesFit, EarlierKnowledgeDoesNotCount) {
  FeaturesFit fit(Features({StringIndex{"city", {"Paris"}}, OneHot{"city"}}));
  EXPECT_EQ(fit_in_places(fit), 1);
  EXPECT_EQ(std::get<StringIndex>(fit.features().features()[0]).categories, (Names{"Lima", "Oslo", "Rome"}));
  EXPECT_EQ(std::get<OneHot>(fit.features().features()[1]).size, 3);
}

TEST(FeaturesFit, FeaturesAloneStandForAFitThatBegins) {
  const Features features({StringIndex{"city"}});
  EXPECT_EQ(FeaturesFit::from_json(features.to_json()).to_json(), FeaturesFit(features).to_json());
}

TEST(FeaturesFit, WhatDoesNotFitIsRefused) {
  FeaturesFit fit(Features({MinMaxScale{"fare"}, StandardScale{"fare"}}));
  EXPECT_EQ(error_text([&] { fit.merge("[]"); }), "a state of fitting features is not of these 2 features");
  EXPECT_EQ(error_text([&] { fit.merge("[null, null]"); }), "a state of fitting features is of another pass");
  EXPECT_NE(error_text([&] { fit.merge("[{}, null]"); }).find("a state of fitting features: "), std::string::npos);
  EXPECT_NE(error_text([&] { fit.merge("{"); }).find("a state of fitting features: "), std::string::npos);
  EXPECT_NE(error_text([] { FeaturesFit::from_json("{}"); }).find("a fit of features: "), std::string::npos);
  EXPECT_EQ(error_text([] { FeaturesFit::from_json(R"({"features": [], "learned": [true]})"); }),
            "a fit of features: 0 features, but marks for 1");
  EXPECT_EQ(error_text([&] { fit.see(rows(0, 3)); }),
            "column 'fare' holds nan in row 0: leave such rows out or fill them");
  EXPECT_EQ(error_text([&] { FeaturesFit(Features({MinMaxScale{"fare"}})).end_pass(); }),
            "column 'fare' has no rows to fit to");
}

}  // namespace
}  // namespace thalweg::data
