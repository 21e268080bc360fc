// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/block_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "thalweg/error.h"

namespace thalweg::testing {
namespace {

TEST(BlockFilter, TheOtherEndIsNeverFurtherOffThanItsShare) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> weights(1000), there(1000);
  for (float& value : weights) value = normal(random);
  there = weights;
  sync::BlockFilter filter(0.05, there);
  size_t bytes = 0;
  for (int step = 0; step < 50; ++step) {
    // Some parts move a lot, others hardly.
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += normal(random) * (i < 200 ? 0.1F : 0.0005F);
    sync::Bytes message;
    filter.append(weights, message);
    sync::BlockFilter::apply(message, there);
    bytes += message.size();
    for (size_t i = 0; i < weights.size(); ++i) ASSERT_LE(std::abs(weights[i] - there[i]), 0.05 * 5) << i;
    ASSERT_EQ(weights[0], there[0]);
  }
  EXPECT_LT(bytes, 50 * 1000 * sizeof(float) / 2) << "nothing was left out";
  EXPECT_NE(weights[999], there[999]);
}

TEST(BlockFilter, WithoutAShareEveryChangeIsSent) {
  std::vector<float> weights(300), there(300);
  sync::BlockFilter filter(0, there);
  weights[290] = 1e-6F;
  sync::Bytes message;
  filter.append(weights, message);
  sync::BlockFilter::apply(message, there);
  EXPECT_EQ(weights, there);
  EXPECT_EQ(message.size(), sizeof(uint64_t) + 44 * sizeof(float)) << "the last block alone";
}

TEST(BlockFilter, WhatIsNoBlockIsRefused) {
  std::vector<float> weights(300);
  sync::BlockFilter filter(0, weights);
  sync::Bytes message;
  filter.append(std::vector<float>(300, 1.0F), message);
  EXPECT_THROW(sync::BlockFilter::apply(std::span(message).first(message.size() - 1), weights), Error);
  message[0] = std::byte{77};
  EXPECT_THROW(sync::BlockFilter::apply(message, weights), Error);
}

}  // namespace
}  // namespace thalweg::testing
