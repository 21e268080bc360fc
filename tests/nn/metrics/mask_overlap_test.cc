// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/error_text.h"
#include "thalweg/masks.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

/// 1 within rows [y0, y1) and columns [x0, x1).
Tensor rectangle(const Shape& shape, int64_t y0, int64_t x0, int64_t y1, int64_t x1) {
  Tensor mask = Tensor::zeros(DType::kU8, shape);
  for (int64_t y = y0; y < y1; ++y) {
    for (int64_t x = x0; x < x1; ++x) mask.data<uint8_t>()[y * shape[1] + x] = 1;
  }
  return mask;
}

/// By looking at all pixels of all squares around a pixel.
int32_t slow_distance(const Tensor& mask, int64_t y, int64_t x) {
  const auto inside = [&](int64_t row, int64_t column) {
    return row >= 0 && column >= 0 && row < mask.shape()[0] && column < mask.shape()[1] &&
           mask.data<uint8_t>()[row * mask.shape()[1] + column] != 0;
  };
  for (int32_t radius = 0;; ++radius) {
    for (int64_t row = y - radius; row <= y + radius; ++row) {
      for (int64_t column = x - radius; column <= x + radius; ++column) {
        if (!inside(row, column)) return radius;
      }
    }
  }
}

TEST(MaskOverlap, DistancesAreThoseOfTheNearestPixelOutside) {
  std::mt19937 random(3);
  for (const int holes : {0, 1, 5, 40}) {
    Tensor mask = rectangle({13, 9}, 0, 0, 13, 9);
    for (int i = 0; i < holes; ++i) mask.data<uint8_t>()[random() % 117] = 0;
    const Tensor distance = metrics::distance_inside(mask);
    for (int64_t i = 0; i < 117; ++i) {
      EXPECT_EQ(distance.data<int32_t>()[i], slow_distance(mask, i / 9, i % 9)) << holes << " " << i;
    }
  }
}

TEST(MaskOverlap, BoundariesOfRectangles) {
  // Diagonal 50; a ratio of 0.04 is a boundary of 2 pixels.
  EXPECT_EQ(metrics::boundary_width(30, 40, 0.04), 2);
  EXPECT_EQ(metrics::boundary_width(30, 40, 0.0001), 1);
  const Tensor large = rectangle({30, 40}, 5, 5, 25, 35);  // 20 x 30
  const Tensor small = rectangle({30, 40}, 6, 6, 24, 34);  // 18 x 28, within it
  const auto found = metrics::overlap(large, small, std::vector<double>{0.02, 0.04, 1.0});
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->iou, 504.0 / 600);
  // Frames of 1 pixel do not meet. Of frames of 2 pixels one is shared.
  const double frame_large = 600 - 16 * 26;
  const double frame_small = 504 - 14 * 24;
  const double shared = 504 - 16 * 26;
  EXPECT_DOUBLE_EQ(found->boundary_iou[0], 0);
  EXPECT_DOUBLE_EQ(found->boundary_iou[1], shared / (frame_large + frame_small - shared));
  EXPECT_DOUBLE_EQ(found->boundary_iou[2], found->iou);  // a boundary as wide as the image is the mask
}

TEST(MaskOverlap, ObjectsAtTheEdgeHaveABoundaryThere) {
  const Tensor whole = rectangle({10, 10}, 0, 0, 10, 10);
  const auto found = metrics::overlap(whole, rectangle({10, 10}, 1, 1, 9, 9), std::vector<double>{0.01});
  EXPECT_DOUBLE_EQ(found->boundary_iou[0], 0);
}

TEST(MaskOverlap, EqualEmptyAndUnlikeMasks) {
  const Tensor empty = Tensor::zeros(DType::kF32, {4, 5});
  const Tensor some = rectangle({4, 5}, 1, 1, 3, 4);
  const std::vector<double> ratios = {0.02};
  EXPECT_FALSE(metrics::overlap(empty, empty, ratios).has_value());
  EXPECT_EQ(metrics::overlap(some, some, ratios)->boundary_iou[0], 1);
  EXPECT_EQ(metrics::overlap(some, empty, ratios)->iou, 0);
  EXPECT_THAT(error_text([&] {
                metrics::overlap(some, rectangle({5, 4}, 0, 0, 1, 1), ratios);
              }),
              HasSubstr("[4,5] and [5,4]"));
  EXPECT_THAT(error_text([&] { metrics::distance_inside(Tensor::zeros(DType::kU8, {4})); }), HasSubstr("u8[4]"));
}

TEST(MaskOverlap, OutputsBecomeClasses) {
  const Tensor scores = Tensor::from<float>({3, 1, 2}, {1, 5, 4, 2, 3, 9});
  const Tensor classes = metrics::class_map(scores);
  EXPECT_EQ(classes.shape(), (Shape{1, 2}));
  EXPECT_EQ(classes.data<int64_t>()[0], 1);
  EXPECT_EQ(classes.data<int64_t>()[1], 2);
  const Tensor object = metrics::class_map(Tensor::from<float>({1, 1, 2}, {0.4F, 0.6F}));
  EXPECT_EQ(object.data<int64_t>()[0], 0);
  EXPECT_EQ(object.data<int64_t>()[1], 1);
  EXPECT_EQ(metrics::class_map(Tensor::from<int32_t>({1, 2}, {7, 8})).data<int64_t>()[1], 8);
}

TEST(MaskOverlap, SegmentationsCountEachClassThatIsThere) {
  // Class 0 has 2 of 3 pixels in common, class 2 has 1 of 2; class 1 is nowhere.
  metrics::SegmentationOverlap several({0.02});
  several.add(Tensor::from<int32_t>({1, 4}, {0, 0, 2, 2}), Tensor::from<int32_t>({1, 4}, {0, 0, 0, 2}));
  EXPECT_EQ(several.pairs(), 2);
  EXPECT_DOUBLE_EQ(several.mean().iou, (2.0 / 3 + 1.0 / 2) / 2);
  // Of an object and its background, the object alone.
  metrics::SegmentationOverlap object({0.02});
  object.add(Tensor::from<float>({1, 4}, {0, 1, 1, 1}), Tensor::from<float>({1, 4}, {0, 0, 1, 1}));
  EXPECT_EQ(object.pairs(), 1);
  EXPECT_DOUBLE_EQ(object.mean().iou, 2.0 / 3);
  EXPECT_EQ(metrics::SegmentationOverlap({}).mean().iou, 0);
}

}  // namespace
}  // namespace thalweg::testing
