// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/calibrate.h"

#include <gtest/gtest.h>

#include <random>

#include "optimize/encode.h"

namespace thalweg {
namespace {

/// Normally distributed values with a few that lie far out.
Histogram with_outliers(double low) {
  Histogram histogram({low, 100.0}, 2048);
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(200'000);
  for (float& value : values) value = std::max(normal(generator), static_cast<float>(low));
  values[17] = 100.0f;
  histogram.add(values.data(), static_cast<int64_t>(values.size()));
  return histogram;
}

TEST(Calibrate, RangesLeaveOutliersOut) {
  for (const double low : {-10.0, 0.0}) {
    const Histogram histogram = with_outliers(low);
    const Range percentile = percentile_range(histogram, 1e-4);
    EXPECT_GT(percentile.high, 3.0);
    EXPECT_LT(percentile.high, 5.0);
    const Range entropy = entropy_range(histogram);
    EXPECT_GT(entropy.high, 2.0);
    EXPECT_LT(entropy.high, 20.0);
    EXPECT_GE(entropy.low, low);
  }
}

TEST(Calibrate, RangesOfLittleData) {
  Histogram nothing({0.0, 0.0}, 16);
  EXPECT_EQ(entropy_range(nothing).high, 0.0);
  EXPECT_EQ(percentile_range(nothing, 1e-4).high, 0.0);
  Histogram one({0.0, 2.0}, 16);
  const float value = 2.0f;
  one.add(&value, 1);
  EXPECT_EQ(percentile_range(one, 1e-4).high, 2.0);
}

TEST(Encode, BytesHoldZeroExactly) {
  for (const Range& range : {Range{-1.0, 3.0}, Range{2.0, 5.0}, Range{-4.0, -1.0}}) {
    const ByteEncoding encoding = byte_encoding(range);
    const double low = (0 - encoding.zero) * encoding.scale, high = (255 - encoding.zero) * encoding.scale;
    EXPECT_LE(low, std::min(range.low, 0.0) + encoding.scale);
    EXPECT_GE(high, std::max(range.high, 0.0) - encoding.scale);
  }
  EXPECT_EQ(byte_encoding({0.0, 5.1}).zero, 0);
  EXPECT_EQ(byte_encoding({0.0, 0.0}).scale, 1.0f);
}

TEST(Encode, WeightsTakeOneScaleAChannel) {
  const Tensor weight = Tensor::from<float>({2, 3}, {1.27f, -0.5f, 0.0f, 0.0f, 0.0f, 0.0f});
  const EncodedWeight rows = encode_weight(weight, 0);
  EXPECT_FLOAT_EQ(rows.scales.data<float>()[0], 0.01f);
  EXPECT_EQ(rows.scales.data<float>()[1], 1.0f);
  EXPECT_EQ(rows.integers.data<int8_t>()[0], 127);
  EXPECT_EQ(rows.integers.data<int8_t>()[1], -50);
  const EncodedWeight columns = encode_weight(weight, 1);
  EXPECT_EQ(columns.scales.num_elements(), 3);
  EXPECT_EQ(columns.integers.data<int8_t>()[1], -127);
}

}  // namespace
}  // namespace thalweg
