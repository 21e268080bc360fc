// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T, typename Build>
std::vector<T> apply(const std::vector<T>& a, const std::vector<T>& b, Build build) {
  const auto count = static_cast<int64_t>(a.size());
  Graph graph;
  Value* x = graph.input("a", {dtype_of<T>, {count}});
  Value* y = graph.input("b", {dtype_of<T>, {count}});
  graph.mark_output(build(x, y));
  const Tensor result = run_graph(graph, {Tensor::from<T>({count}, a), Tensor::from<T>({count}, b)})[0];
  return {result.data<T>(), result.data<T>() + count};
}

TEST(Modulo, SignFollowsTheDivisorOrTheDividend) {
  const std::vector<int32_t> a = {-4, 7, 5, -8}, b = {3, -3, 8, 0};
  EXPECT_THAT(apply(a, b, [](Value* x, Value* y) { return ops::modulo(x, y); }), ElementsAre(2, -2, 5, 0));
  EXPECT_THAT(apply(a, b, [](Value* x, Value* y) { return ops::modulo(x, y, true); }), ElementsAre(-1, 1, 5, 0));
  EXPECT_THAT(apply<float>({-4.5F, 7.5F}, {3, -3}, [](Value* x, Value* y) { return ops::modulo(x, y, true); }),
              ElementsAre(-1.5F, 1.5F));
  // The quotient does not exist in the type; the rest does.
  EXPECT_THAT(apply<int64_t>({INT64_MIN}, {-1}, [](Value* x, Value* y) { return ops::modulo(x, y); }), ElementsAre(0));
}

TEST(Arithmetic, OfIntegersWraps) {
  const auto with = [](Value* (*op)(Value*, Value*, const std::string&)) {
    return [op](Value* x, Value* y) { return op(x, y, ""); };
  };
  EXPECT_THAT(apply<int64_t>({INT64_MAX, INT64_MIN}, {1, -1}, with(ops::add)), ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(apply<int32_t>({INT32_MIN, 5}, {1, 7}, with(ops::sub)), ElementsAre(INT32_MAX, -2));
  EXPECT_THAT(apply<uint16_t>({65535, 3}, {65535, 4}, with(ops::mul)), ElementsAre(1, 12));
  EXPECT_THAT(apply<int64_t>({INT64_MIN, 7, -7}, {-1, 0, 2}, with(ops::div)), ElementsAre(INT64_MIN, 0, -3));
}

TEST(Bits, OfSignedAndUnsigned) {
  EXPECT_THAT(apply<uint16_t>({0xff00}, {0x0ff0}, ops::bit_and), ElementsAre(0x0f00));
  EXPECT_THAT(apply<uint64_t>({1ULL << 63}, {1}, ops::bit_or), ElementsAre((1ULL << 63) + 1));
  EXPECT_THAT(apply<int8_t>({-1}, {0x0f}, ops::bit_xor), ElementsAre(-16));
  EXPECT_THAT(apply<uint8_t>({0x0f}, {0}, [](Value* x, Value*) { return ops::bit_not(x); }), ElementsAre(0xf0));
}

TEST(Shift, ByTheWidthOrMore) {
  EXPECT_THAT(apply<uint32_t>({1, 1, 3}, {31, 32, 1}, ops::shift_left), ElementsAre(0x80000000U, 0U, 6U));
  EXPECT_THAT(apply<uint32_t>({8, 8, 8}, {3, 32, 0}, ops::shift_right), ElementsAre(1U, 0U, 8U));
  EXPECT_THAT(apply<int8_t>({-8, -8, 8}, {1, 100, -1}, ops::shift_right), ElementsAre(-4, -1, 0));
}

TEST(Bits, OfFloatsAreAnError) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2}});
  EXPECT_THAT(error_text([&] { ops::bit_and(x, x); }), HasSubstr("must be integers"));
}

}  // namespace
}  // namespace thalweg::testing
