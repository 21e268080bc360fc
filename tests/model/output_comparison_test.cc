// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/output_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error_text.h"

namespace thalweg::testing {
namespace {

TEST(OutputComparison, EqualOutputsDoNotDiffer) {
  const Tensor x = Tensor::from<float>({2, 3}, {1, -2, 3, 0, 0, 0});
  OutputComparison comparison;
  comparison.add(x, x);
  EXPECT_EQ(comparison.max_absolute(), 0);
  EXPECT_EQ(comparison.max_of_range(), 0);
  EXPECT_DOUBLE_EQ(comparison.cosine(), 1);
  EXPECT_EQ(comparison.rows(), 2);
  EXPECT_EQ(comparison.same_top_rows(), 2);
}

TEST(OutputComparison, DifferencesAddUpOverBatches) {
  OutputComparison comparison;
  comparison.add(Tensor::from<float>({1, 2}, {4, 2}), Tensor::from<float>({1, 2}, {4, 1}));
  comparison.add(Tensor::from<double>({1, 2}, {8, 0}), Tensor::from<float>({1, 2}, {0, 8}));
  EXPECT_EQ(comparison.elements(), 4);
  EXPECT_EQ(comparison.max_absolute(), 8);
  EXPECT_EQ(comparison.mean_absolute(), (0 + 1 + 8 + 8) / 4.0);
  EXPECT_EQ(comparison.max_relative(), 1);
  EXPECT_EQ(comparison.mean_relative(), (0 + 0.5 + 1 + 1) / 4.0);
  EXPECT_EQ(comparison.max_of_range(), 1);
  EXPECT_DOUBLE_EQ(comparison.relative_distance(), std::sqrt(129.0 / 84.0));
  EXPECT_DOUBLE_EQ(comparison.cosine(), 18 / std::sqrt(84.0 * 81.0));
  EXPECT_EQ(comparison.same_top_rows(), 1);
}

TEST(OutputComparison, WhatIsNotFiniteIsCounted) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  OutputComparison comparison;
  comparison.add(Tensor::from<float>({4}, {nan, infinity, 1, infinity}),
                 Tensor::from<float>({4}, {nan, infinity, nan, -infinity}));
  EXPECT_EQ(comparison.not_finite(), 2);
  EXPECT_EQ(comparison.relative_distance(), infinity);
  EXPECT_EQ(comparison.max_absolute(), 0);
}

TEST(OutputComparison, ShapesMustBeTheSame) {
  OutputComparison comparison;
  EXPECT_THAT(error_text([&] { comparison.add(Tensor::zeros(DType::kF32, {2}), Tensor::zeros(DType::kF32, {3})); }),
              ::testing::HasSubstr("[2] and [3]"));
}

}  // namespace
}  // namespace thalweg::testing
