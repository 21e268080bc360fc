// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/stored_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error_text.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using testing::error_text;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor codes_of(DType dtype, int count) {
  Tensor codes(dtype, {count});
  for (int i = 0; i < count; ++i) static_cast<uint8_t*>(codes.raw())[i] = static_cast<uint8_t>(i);
  return codes;
}

std::vector<float> floats(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::kF32);
  return {wide.data<float>(), wide.data<float>() + wide.num_elements()};
}

std::vector<float> through(DType dtype, const std::vector<float>& values, const stored::Narrowing& how = {}) {
  return floats(stored::narrowed(Tensor::from<float>({static_cast<int64_t>(values.size())}, values), dtype, how));
}

TEST(NarrowTypes, EveryCodeComesBack) {
  for (const auto& [dtype, count] : std::vector<std::pair<DType, int>>{{stored::kF8E4M3FN, 256},
                                                                       {stored::kF8E4M3FNUZ, 256},
                                                                       {stored::kF8E5M2, 256},
                                                                       {stored::kF8E5M2FNUZ, 256},
                                                                       {stored::kF8E8M0, 256},
                                                                       {stored::kF4E2M1, 16},
                                                                       {stored::kI4, 16},
                                                                       {stored::kU4, 16},
                                                                       {stored::kI2, 4},
                                                                       {stored::kU2, 4}}) {
    const Tensor codes = codes_of(dtype, count);
    const Tensor wide = codes.to(DType::kF32);
    // Infinities stay only where they are not made the largest number.
    const Tensor back = stored::narrowed(wide, dtype, {.saturate = false});
    for (int i = 0; i < count; ++i) {
      if (std::isnan(wide.data<float>()[i])) {
        EXPECT_TRUE(std::isnan(floats(back)[static_cast<size_t>(i)])) << dtype << ' ' << i;
      } else {
        EXPECT_EQ(static_cast<uint8_t*>(back.raw())[i], i) << dtype << ' ' << wide.data<float>()[i];
      }
    }
  }
}

TEST(NarrowTypes, KnowTheirLargestAndSmallestNumbers) {
  EXPECT_THAT(through(stored::kF8E4M3FN, {1e9F, -1e9F, kInfinity, 0x1p-9F}), ElementsAre(448, -448, 448, 0x1p-9F));
  EXPECT_THAT(through(stored::kF8E4M3FNUZ, {1e9F, 0x1p-10F}), ElementsAre(240, 0x1p-10F));
  EXPECT_THAT(through(stored::kF8E5M2, {1e9F, 0x1p-16F}), ElementsAre(57344, 0x1p-16F));
  EXPECT_THAT(through(stored::kF8E5M2, {1e9F, -kInfinity}, {.saturate = false}), ElementsAre(kInfinity, -kInfinity));
  EXPECT_TRUE(std::isnan(through(stored::kF8E4M3FN, {1e9F}, {.saturate = false})[0]));
  EXPECT_THAT(through(stored::kF4E2M1, {100, -100, 0.5F}), ElementsAre(6, -6, 0.5F));
  EXPECT_THAT(through(stored::kI4, {-8, 7, 8, 3.7F}), ElementsAre(-8, 7, -8, 3));
  EXPECT_THAT(through(stored::kU2, {3, 4, 0}), ElementsAre(3, 0, 0));
}

TEST(NarrowTypes, RoundToTheNearestAndTiesToEven) {
  // Between 1 and 1.125, and between 1.125 and 1.25.
  EXPECT_THAT(through(stored::kF8E4M3FN, {1.06F, 1.0625F, 1.07F, 1.1875F}), ElementsAre(1, 1, 1.125F, 1.25F));
  EXPECT_THAT(through(stored::kF8E4M3FN, {0x1p-10F, 3 * 0x1p-10F}), ElementsAre(0, 0x1p-8F));
  EXPECT_THAT(through(stored::kF8E4M3FN, {455, 464}), ElementsAre(448, 448));
  EXPECT_THAT(through(stored::kF8E8M0, {1.1F, 4}, {.round_mode = "up"}), ElementsAre(2, 4));
  EXPECT_THAT(through(stored::kF8E8M0, {1.9F}, {.round_mode = "down"}), ElementsAre(1));
  EXPECT_THAT(through(stored::kF8E8M0, {1.4F, 1.5F}, {.round_mode = "nearest"}), ElementsAre(1, 2));
}

TEST(NarrowTypes, HaveOneZeroWhereTheFormatSaysSo) {
  const Tensor zero = stored::narrowed(Tensor::from<float>({1}, {-0.0F}), stored::kF8E4M3FNUZ);
  EXPECT_EQ(*static_cast<uint8_t*>(zero.raw()), 0);
  EXPECT_EQ(Tensor::scalar<float>(5).to(stored::kU4).item(), 5);
}

TEST(Objects, TextsAreSharedByCopies) {
  const Tensor texts = stored::texts({2}, {"a", "b"});
  const Tensor copy = texts.clone().reshaped({1, 2});
  EXPECT_EQ(stored::texts_of(copy)[1], "b");
  EXPECT_TRUE(stored::texts({0}, {}).defined());
  EXPECT_THAT(error_text([] { stored::texts({3}, {"a"}); }), HasSubstr("[3]"));
}

TEST(Objects, SequencesHoldTensorsOfAnyType) {
  const Tensor list = stored::sequence({Tensor::scalar<float>(1), stored::texts({1}, {"x"}), stored::nothing()});
  ASSERT_EQ(stored::items_of(list).size(), 3U);
  EXPECT_EQ(list.shape(), (Shape{3}));
  EXPECT_EQ(stored::items_of(list)[2].dtype(), stored::kNothing);
  EXPECT_THAT(error_text([&] { stored::texts_of(list); }), HasSubstr("text"));
}

TEST(Objects, HaveNoBytes) {
  const Tensor texts = stored::texts({2}, {"a", "b"});
  EXPECT_THAT(error_text([&] { (void)texts.num_bytes(); }), HasSubstr("text"));
  EXPECT_THROW((void)texts.rows(0, 1), Error);
  EXPECT_THROW((void)texts.to(DType::kF32), Error);
  EXPECT_THROW((void)Tensor(stored::kText, {1}), Error);
}

}  // namespace
}  // namespace thalweg
