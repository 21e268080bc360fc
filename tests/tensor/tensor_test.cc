// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace thalweg {
namespace {

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ((Shape{2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ((Shape{0, 3}).num_elements(), 0);
  EXPECT_EQ((Shape{2, kFree}).to_string(), "[2,?]");
  EXPECT_EQ((Shape{2, 3, 4})[-1], 4);
  EXPECT_THROW((void)(Shape{2, kFree}).num_elements(), Error);
  EXPECT_THROW((void)(Shape{2})[1], Error);
}

TEST(Shape, RefusesSizesThatOverflow) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_THROW((void)(Shape{big, big}).num_elements(), Error);
  EXPECT_THROW(Tensor(DType::kF64, Shape{std::numeric_limits<int64_t>::max() / 2}), Error);
}

TEST(DType, NamesRoundTrip) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI8, DType::kU8, DType::kI32,
                      DType::kI64, DType::kBool}) {
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_THROW(dtype_from_name("float"), Error);
}

TEST(BF16, RoundsToNearestEven) {
  EXPECT_EQ(static_cast<float>(BF16(1.0F)), 1.0F);
  EXPECT_EQ(static_cast<float>(BF16(1.0F + 0x1p-8F)), 1.0F);                // tie, to even
  EXPECT_EQ(static_cast<float>(BF16(1.0F + 3 * 0x1p-8F)), 1.0F + 0x1p-6F);  // tie, to even
  EXPECT_TRUE(std::isnan(static_cast<float>(BF16(std::nanf("")))));
  EXPECT_TRUE(std::isinf(static_cast<float>(BF16(std::numeric_limits<float>::max()))));
}

TEST(F16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    F16 value;
    value.bits = static_cast<uint16_t>(bits);
    const auto wide = static_cast<float>(value);
    if (std::isnan(wide)) continue;
    EXPECT_EQ(F16(wide).bits, value.bits) << bits;
  }
  EXPECT_TRUE(std::isinf(static_cast<float>(F16(65520.0F))));
  EXPECT_EQ(static_cast<float>(F16(65519.0F)), 65504.0F);
}

TEST(Tensor, ViewsShareAndClonesDoNot) {
  Tensor a = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  Tensor view = a.rows(1, 2);
  view.data<float>()[0] = 9;
  EXPECT_EQ(a.data<float>()[2], 9);
  Tensor copy = a.clone();
  copy.data<float>()[0] = 7;
  EXPECT_EQ(a.data<float>()[0], 1);
  EXPECT_EQ(a.reshaped({4}).shape(), Shape{4});
  EXPECT_THROW(a.reshaped({3}), Error);
  EXPECT_THROW(a.rows(1, 3), Error);
  EXPECT_THROW((void)a.data<double>(), Error);
}

TEST(Tensor, ConvertsBetweenAllTypes) {
  const Tensor x = Tensor::from<float>({3}, {0.0F, 1.0F, 2.0F});
  for (DType dtype : {DType::kF64, DType::kBF16, DType::kF16, DType::kI8, DType::kU8, DType::kI32, DType::kI64}) {
    const Tensor back = x.to(dtype).to(DType::kF32);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(back.data<float>()[i], x.data<float>()[i]) << name_of(dtype);
  }
  EXPECT_EQ(x.to(DType::kBool).to(DType::kF32).data<float>()[2], 1.0F);
  EXPECT_EQ(Tensor::scalar<int64_t>(5).item(), 5.0);
}

}  // namespace
}  // namespace thalweg
