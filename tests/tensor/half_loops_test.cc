// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "tensor/half_loops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace thalweg::testing {
namespace {

/// Every kind of number: all signs, exponents, ties, subnormals, infinities, NaN.
std::vector<float> many_floats() {
  std::vector<float> result;
  std::mt19937 random(3);
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const uint32_t mantissa :
         {0U, 1U, 0x1000U, 0x8000U, 0x18000U, 0x7fffffU, static_cast<uint32_t>(random()) & 0x7fffffU}) {
      for (const uint32_t sign : {0U, 1U})
        result.push_back(std::bit_cast<float>(sign << 31U | exponent << 23U | mantissa));
    }
  }
  result.push_back(1.0F);
  return result;
}

template <typename Half>
void expect_same_bits() {
  const std::vector<float> values = many_floats();
  std::vector<Half> halves(values.size()), sums(values.size());
  narrow(values.data(), halves.data(), values.size());
  std::vector<float> wide(values.size());
  widen(halves.data(), wide.data(), wide.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(wide[i])) << i;
      continue;
    }
    EXPECT_EQ(halves[i].bits, Half(values[i]).bits) << values[i];
    EXPECT_EQ(wide[i], static_cast<float>(halves[i])) << values[i];
  }
  const std::vector<Half> reversed(halves.rbegin(), halves.rend());
  add(sums.data(), halves.data(), reversed.data(), halves.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const Half expected(static_cast<float>(halves[i]) + static_cast<float>(reversed[i]));
    if (std::isnan(static_cast<float>(expected))) continue;
    EXPECT_EQ(sums[i].bits, expected.bits) << i;
  }
}

TEST(HalfLoops, AreTheConversionsOfSingleNumbers) {
  expect_same_bits<BF16>();
  expect_same_bits<F16>();
}

}  // namespace
}  // namespace thalweg::testing
