// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/rle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "support/error_text.h"
#include "vision/coco_file.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using vision::Polygon;
using vision::Rle;

/// Each pixel inside with this probability.
Tensor random_mask(std::mt19937& random, int64_t height, int64_t width, double share) {
  Tensor mask(DType::kU8, {height, width});
  std::bernoulli_distribution inside(share);
  for (int64_t i = 0; i < mask.num_elements(); ++i) mask.data<uint8_t>()[i] = inside(random) ? 1 : 0;
  return mask;
}

std::vector<uint8_t> pixels(const Tensor& mask) {
  return {mask.data<uint8_t>(), mask.data<uint8_t>() + mask.num_elements()};
}

TEST(Rle, RunsGoDownTheColumns) {
  Tensor mask = Tensor::zeros(DType::kU8, {3, 2});
  mask.data<uint8_t>()[1 * 2 + 0] = 7;  // row 1, column 0
  mask.data<uint8_t>()[2 * 2 + 0] = 1;
  mask.data<uint8_t>()[0 * 2 + 1] = 1;
  const Rle rle = Rle::from_mask(mask);
  EXPECT_EQ(rle.counts(), (std::vector<uint32_t>{1, 3, 2}));
  EXPECT_EQ(rle.area(), 3);
  EXPECT_EQ(rle.bounding_box(), (vision::Box{0, 0, 2, 3}));
  EXPECT_EQ(rle, Rle::from_mask(mask.to(DType::kBool)));
  EXPECT_EQ(rle, Rle::from_mask(mask.to(DType::kF32)));
}

TEST(Rle, MasksComeBackFromRunsAndText) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const auto height = static_cast<int64_t>(1 + random() % 20);
    const auto width = static_cast<int64_t>(1 + random() % 20);
    const double share = std::vector<double>{0.0, 0.02, 0.5, 0.98, 1.0}[random() % 5];
    const Tensor mask = random_mask(random, height, width, share);
    const Rle rle = Rle::from_mask(mask);
    ASSERT_EQ(pixels(rle.mask()), pixels(mask));
    EXPECT_EQ(Rle::from_text(height, width, rle.text()), rle);
    const std::vector<int64_t> counts(rle.counts().begin(), rle.counts().end());
    EXPECT_EQ(Rle::from_counts(height, width, counts), rle);
    const std::vector<uint8_t> inside = pixels(mask);
    EXPECT_EQ(rle.area(), std::accumulate(inside.begin(), inside.end(), int64_t{0}));
  }
}

TEST(Rle, LongRunsComeBackFromText) {
  for (const int64_t run : {int64_t{15}, int64_t{16}, int64_t{1023}, int64_t{1} << 30}) {
    const int64_t pixels = (int64_t{1} << 20) * 2000;
    const Rle rle = Rle::from_counts(1 << 20, 2000, std::vector<int64_t>{run, 1, 2, 1, pixels - run - 4});
    EXPECT_EQ(Rle::from_text(1 << 20, 2000, rle.text()), rle) << run;
  }
}

TEST(Rle, EmptyRunsJoinTheirNeighbours) {
  const auto counts = [](std::vector<int64_t> given) { return Rle::from_counts(2, 5, given).counts(); };
  EXPECT_EQ(counts({0, 10}), (std::vector<uint32_t>{0, 10}));
  EXPECT_EQ(counts({0, 0, 10}), (std::vector<uint32_t>{10}));
  EXPECT_EQ(counts({3, 0, 2, 5}), (std::vector<uint32_t>{5, 5}));
  EXPECT_EQ(counts({3, 0, 0, 7}), (std::vector<uint32_t>{3, 7}));
  EXPECT_EQ(counts({3, 2, 0, 5, 0, 0}), (std::vector<uint32_t>{3, 7}));
}

TEST(Rle, WhatIsNoMaskIsRefused) {
  const auto counts = [](std::vector<int64_t> given) { return error_text([&] { Rle::from_counts(2, 5, given); }); };
  EXPECT_THAT(counts({3, 8}), HasSubstr("run 1 of a mask of 2 x 5 pixels has 8 pixels, and 7 are left"));
  EXPECT_THAT(counts({3, -1, 8}), HasSubstr("run 1"));
  EXPECT_THAT(counts({3}), HasSubstr("have 3 pixels, not 10"));
  EXPECT_THAT(counts({INT64_MAX, INT64_MAX}), HasSubstr("run 0"));
  EXPECT_THAT(error_text([] { Rle(1 << 20, 1 << 20); }), HasSubstr("at most"));
  EXPECT_THAT(error_text([] { Rle(-1, 3); }), HasSubstr("at most"));
  const auto text = [](const std::string& given) { return error_text([&] { Rle::from_text(2, 5, given); }); };
  EXPECT_THAT(text("P"), HasSubstr("ends within a number"));
  EXPECT_THAT(text("3!"), HasSubstr("character of number 33 at 1"));
  EXPECT_THAT(text("oooooooooo"), HasSubstr("more than 7 characters"));
  EXPECT_THAT(text("O"), HasSubstr("run 0"));
  EXPECT_THAT(error_text([] { Rle::from_mask(Tensor::zeros(DType::kU8, {3})); }), HasSubstr("[height, width]"));
}

TEST(Rle, PolygonsAreDrawnAsPycocotoolsDoes) {
  for (const nlohmann::json& one : golden_coco("masks")) {
    const Rle rle = Rle::from_polygons(one["height"], one["width"], one["polygons"].get<std::vector<Polygon>>());
    EXPECT_EQ(rle.text(), one["text"].get<std::string>()) << one.dump();
    EXPECT_EQ(rle.area(), one["area"].get<int64_t>());
    const std::vector<double> box = one["box"];
    EXPECT_EQ(rle.bounding_box(), (vision::Box{box[0], box[1], box[2], box[3]})) << one.dump();
  }
}

TEST(Rle, PolygonsFarOutsideCostNothing) {
  const std::vector<Polygon> polygons = {{-9e7, -9e7, 9e7, -9e7, 9e7, 9e7, -9e7, 9e7}};
  EXPECT_EQ(Rle::from_polygons(30, 40, polygons).area(), 1200);
  const auto refused = [](const Polygon& polygon) {
    return error_text([&] { Rle::from_polygons(30, 40, std::vector<Polygon>{polygon}); });
  };
  EXPECT_THAT(refused({1e30, 0, 1, 1, 2, 2}), HasSubstr("a corner of a polygon lies at 1e+30"));
  EXPECT_THAT(refused({0, 0, 1, 1, 2}), HasSubstr("5 numbers"));
  Polygon zigzag;
  for (int i = 0; i < 400; ++i) zigzag.insert(zigzag.end(), {i % 2 == 0 ? 0.0 : 1e5, 0.5});
  EXPECT_THAT(error_text([&] { Rle::from_polygons(1, 1 << 20, std::vector<Polygon>{zigzag}); }),
              HasSubstr("crosses columns"));
}

/// By looking at every pixel.
double slow_iou(const Tensor& a, const Tensor& b, bool crowd) {
  int64_t both = 0;
  int64_t either = 0;
  int64_t of_a = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const bool in_a = a.data<uint8_t>()[i] != 0;
    const bool in_b = b.data<uint8_t>()[i] != 0;
    both += in_a && in_b ? 1 : 0;
    either += in_a || in_b ? 1 : 0;
    of_a += in_a ? 1 : 0;
  }
  const int64_t whole = crowd ? of_a : either;
  return both == 0 ? 0.0 : static_cast<double>(both) / static_cast<double>(whole);
}

TEST(Rle, OverlapAndSetsAreThoseOfPixels) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const auto height = static_cast<int64_t>(1 + random() % 12);
    const auto width = static_cast<int64_t>(1 + random() % 12);
    std::vector<Tensor> masks;
    std::vector<Rle> rles;
    for (int k = 0; k < 3; ++k) {
      masks.push_back(random_mask(random, height, width, std::vector<double>{0.0, 0.2, 0.8, 1.0}[random() % 4]));
      rles.push_back(Rle::from_mask(masks.back()));
    }
    for (const bool crowd : {false, true}) {
      EXPECT_EQ(vision::iou(rles[0], rles[1], crowd), slow_iou(masks[0], masks[1], crowd));
    }
    Tensor any = Tensor::zeros(DType::kU8, {height, width});
    Tensor all = Tensor::zeros(DType::kU8, {height, width});
    for (int64_t p = 0; p < any.num_elements(); ++p) {
      const int sum = masks[0].data<uint8_t>()[p] + masks[1].data<uint8_t>()[p] + masks[2].data<uint8_t>()[p];
      any.data<uint8_t>()[p] = sum > 0 ? 1 : 0;
      all.data<uint8_t>()[p] = sum == 3 ? 1 : 0;
    }
    EXPECT_EQ(vision::united(rles), Rle::from_mask(any));
    EXPECT_EQ(vision::intersected(rles), Rle::from_mask(all));
  }
  EXPECT_THAT(error_text([] { vision::iou(Rle(2, 3), Rle(3, 2)); }), HasSubstr("different sizes: 2 x 3 and 3 x 2"));
}

/// Pixels of whose square of this radius a part is outside, by looking at all of it.
Tensor slow_boundary(const Tensor& mask, int64_t radius) {
  const int64_t height = mask.shape()[0];
  const int64_t width = mask.shape()[1];
  const auto inside = [&](int64_t y, int64_t x) {
    return y >= 0 && x >= 0 && y < height && x < width && mask.data<uint8_t>()[y * width + x] != 0;
  };
  Tensor result = Tensor::zeros(DType::kU8, mask.shape());
  for (int64_t i = 0; i < mask.num_elements(); ++i) {
    bool near = false;
    for (int64_t y = i / width - radius; y <= i / width + radius; ++y) {
      for (int64_t x = i % width - radius; x <= i % width + radius; ++x) near = near || !inside(y, x);
    }
    result.data<uint8_t>()[i] = near && mask.data<uint8_t>()[i] != 0 ? 1 : 0;
  }
  return result;
}

TEST(Rle, BoundariesAreThePixelsNearTheOutside) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const auto height = static_cast<int64_t>(10 + random() % 20);
    const auto width = static_cast<int64_t>(10 + random() % 20);
    const Tensor mask = random_mask(random, height, width, std::vector<double>{0.0, 0.9, 0.98, 1.0}[i % 4]);
    for (const double ratio : {0.0, 0.05, 0.1, 0.5}) {
      const int64_t radius = vision::boundary_width(height, width, ratio);
      EXPECT_EQ(vision::boundary(Rle::from_mask(mask), ratio), Rle::from_mask(slow_boundary(mask, radius)));
    }
  }
  EXPECT_EQ(vision::boundary_width(30, 40, 0.05), 2);  // 2.5: halves to even
  EXPECT_EQ(vision::boundary_width(30, 40, 0.07), 4);
  EXPECT_EQ(vision::boundary_width(3, 4, 0.0), 1);
  EXPECT_THAT(error_text([] { vision::boundary(Rle(2, 2), 1.5); }), HasSubstr("[0, 1]"));
}

TEST(Boxes, OverlapWithCrowdsIsAboutTheDetection) {
  const vision::Box a{0, 0, 4, 2};
  const vision::Box b{2, 0, 4, 4};
  EXPECT_DOUBLE_EQ(vision::iou(a, b), 4.0 / 20.0);
  EXPECT_DOUBLE_EQ(vision::iou(a, b, true), 4.0 / 8.0);
  EXPECT_EQ(vision::iou(a, {4, 0, 1, 1}), 0.0);
  EXPECT_EQ(vision::iou({1, 1, 0, 0}, {1, 1, 0, 0}), 0.0);
}

}  // namespace
}  // namespace thalweg::testing
