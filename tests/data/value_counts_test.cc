// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/features/value_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

TEST(ValueCounts, FewValuesAreCountedExactly) {
  ValueCounts counts;
  for (const double value : {3.0, 1.0, 2.0, 2.0}) counts.add(value);
  EXPECT_EQ(counts.total(), 4);
  EXPECT_EQ(counts.at(0.5), 2);
  EXPECT_EQ(counts.at(0), 1);
  EXPECT_EQ(counts.at(1), 3);
  EXPECT_EQ(counts.most_frequent(), 2);
  counts.add(1);
  EXPECT_EQ(counts.most_frequent(), 1) << "the smallest of those that are equally frequent";
}

TEST(ValueCounts, PartsAreMergedAsIfTheyWereOne) {
  ValueCounts whole, left, right;
  for (int i = 0; i < 1000; ++i) {
    const double value = (i * 37) % 101;
    whole.add(value);
    (i % 3 == 0 ? left : right).add(value);
  }
  left.merge(right.state());
  EXPECT_EQ(left.state(), whole.state());
}

TEST(ValueCounts, OfMoreValuesThanAreKeptTheRanksStayNear) {
  constexpr int kValues = 1'000'000;
  std::mt19937_64 random(5);
  std::vector<double> values(kValues);
  std::normal_distribution<double> normal;
  for (double& value : values) value = normal(random);
  ValueCounts left, right;
  for (int i = 0; i < kValues; ++i) (i < kValues / 4 ? left : right).add(values[static_cast<size_t>(i)]);
  left.merge(right.state());
  EXPECT_EQ(left.total(), kValues);
  std::sort(values.begin(), values.end());
  for (const double part : {0.01, 0.25, 0.5, 0.9}) {
    const auto place = std::lower_bound(values.begin(), values.end(), left.at(part)) - values.begin();
    EXPECT_NEAR(static_cast<double>(place) / kValues, part, 1e-4);
  }
}

TEST(ValueCounts, AStateThatDoesNotFitIsRefused) {
  ValueCounts counts;
  EXPECT_EQ(testing::error_text([&] {
              counts.merge({{"values", {1.0, 2.0}}, {"counts", {1}}});
            }),
            "a state of counts has 2 values and 1 counts");
  EXPECT_EQ(testing::error_text([&] { counts.at(0.5); }), "there are no values");
}

}  // namespace
}  // namespace thalweg::data
