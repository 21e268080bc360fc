// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/resample.h"

#include <gtest/gtest.h>

#include "data/image/color.h"
#include "support/golden_image.h"

namespace thalweg::data {
namespace {

using testing::expect_pixels_near;
using testing::golden_image;

constexpr std::pair<const char*, Interpolation> kFilters[] = {{"bilinear", Interpolation::kBilinear},
                                                              {"bicubic", Interpolation::kBicubic},
                                                              {"area", Interpolation::kArea},
                                                              {"nearest", Interpolation::kNearest}};

// Weights have 14 bits or more where Pillow's have 22: a value may round the other way, to the next level.
TEST(Resample, AgreesWithPillow) {
  const Tensor source = golden_image("source");
  for (const auto& [name, interpolation] : kFilters) {
    for (const ImageSize size : {ImageSize{19, 23}, ImageSize{90, 100}, ImageSize{20, 61}}) {
      const std::string golden =
          std::string("resize_") + name + "_" + std::to_string(size.width) + "x" + std::to_string(size.height);
      const int worst = interpolation == Interpolation::kNearest ? 0 : 1;
      expect_pixels_near(resample(source, {0, 0, 61, 47}, size, interpolation), golden_image(golden), worst, 0.02,
                         golden);
      if (size == ImageSize{20, 61} || interpolation == Interpolation::kNearest) continue;  // no golden file
      expect_pixels_near(resample(source, {7, 5, 40, 34}, size, interpolation), golden_image(golden + "_cut"), worst,
                         0.02, golden + "_cut");
    }
  }
}

TEST(Resample, OneChannelGivesWhatThreeEqualOnesGive) {
  const Tensor source = golden_image("photo_gray.png");
  Tensor gray = new_image({47, 61}, 1);
  for (int64_t i = 0; i < gray.num_elements(); ++i) gray.data<uint8_t>()[i] = source.data<uint8_t>()[3 * i];
  for (const auto& [name, interpolation] : kFilters) {
    const Tensor three = resample(source, {3.5, 2, 50, 30.25}, {31, 17}, interpolation);
    const Tensor one = resample(gray, {3.5, 2, 50, 30.25}, {31, 17}, interpolation);
    for (int64_t i = 0; i < one.num_elements(); ++i) {
      ASSERT_EQ(one.data<uint8_t>()[i], three.data<uint8_t>()[3 * i]) << name;
    }
  }
}

TEST(Resample, AnEvenSurfaceStaysEven) {
  for (const int level : {0, 1, 128, 254, 255}) {
    const Tensor even = Tensor::full<uint8_t>({37, 53, 3}, static_cast<uint8_t>(level));
    for (const auto& [name, interpolation] : kFilters) {
      for (const ImageSize size : {ImageSize{1, 1}, ImageSize{5, 7}, ImageSize{37, 53}, ImageSize{100, 211}}) {
        expect_pixels_near(resample(even, {0, 0, 53, 37}, size, interpolation),
                           Tensor::full<uint8_t>({size.height, size.width, 3}, static_cast<uint8_t>(level)), 0, 0,
                           name);
      }
    }
  }
}

TEST(Resample, PixelsOutsideOfTheAreaHaveNoInfluence) {
  Tensor image = Tensor::full<uint8_t>({20, 20, 3}, 255);
  for (int64_t y = 4; y < 12; ++y) {
    for (int64_t i = 3 * 6; i < 3 * 16; ++i) image.data<uint8_t>()[y * 60 + i] = 10;
  }
  expect_pixels_near(resample(image, {6, 4, 10, 8}, {5, 23}, Interpolation::kBicubic),
                     Tensor::full<uint8_t>({5, 23, 3}, 10), 0, 0, "cut");
}

TEST(Color, AgreesWithPillow) {
  const Tensor source = golden_image("source");
  expect_pixels_near(adjust_brightness(source, 1.4), golden_image("color_brightness"), 0, 0, "brightness");
  expect_pixels_near(adjust_contrast(source, 0.6), golden_image("color_contrast"), 1, 0.01, "contrast");
  expect_pixels_near(adjust_saturation(source, 1.7), golden_image("color_saturation"), 1, 0.01, "saturation");
  // Pillow keeps hue and saturation in 8 bits on the way: one step of the hue is up to 6 levels.
  expect_pixels_near(adjust_hue(source, 0.2), golden_image("color_hue"), 12, 1.5, "hue");
}

TEST(Color, AFactorOfOneChangesNothing) {
  const Tensor source = golden_image("source");
  for (const Tensor& same :
       {adjust_brightness(source, 1.0), adjust_contrast(source, 1.0), adjust_saturation(source, 1.0),
        adjust_hue(source, 0.0), adjust_hue(source, 1.0), add_color(source, {0, 0, 0})}) {
    expect_pixels_near(same, source, 0, 0, "unchanged");
  }
}

// One row of the result is made of thousands of the source, which are not all kept at once.
TEST(Resample, AVeryHighImageIsFilteredInBands) {
  constexpr int64_t kHeight = 200'000;
  Tensor high(DType::kU8, {kHeight, 2, 3});
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t i = 0; i < 6; ++i) high.data<uint8_t>()[6 * y + i] = static_cast<uint8_t>(y * 2654435761U >> 24U);
  }
  const Area all{0, 0, 2, static_cast<double>(kHeight)};
  for (const auto& [name, interpolation] : kFilters) {
    const Tensor wide = resample(high, all, {64, 700}, interpolation);
    const Tensor narrow = resample(high, all, {64, 1}, interpolation);
    for (int64_t y = 0; y < 64; ++y) {
      for (int64_t x = 0; x < 700; ++x) {
        ASSERT_EQ(wide.data<uint8_t>()[(700 * y + x) * 3], narrow.data<uint8_t>()[3 * y]) << name << ", row " << y;
      }
    }
  }
}

}  // namespace
}  // namespace thalweg::data
