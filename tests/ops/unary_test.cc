// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/kernel_check.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct UnaryCase {
  const char* name;
  Value* (*build)(Value*);
  double low = -4, high = 4;
};

class UnaryOp : public ::testing::TestWithParam<UnaryCase> {
 protected:
  static BuildOp build() {
    return [](const std::vector<Value*>& v) { return std::vector<Value*>{GetParam().build(v[0])}; };
  }
  static Operand operand(const Shape& shape) { return {shape, GetParam().low, GetParam().high}; }
};

TEST_P(UnaryOp, GradientsMatchCentralDifferences) { check_gradients({operand({3, 7})}, build()); }

TEST_P(UnaryOp, FastPathMatchesReference) {
  for (const Shape& shape : {Shape{3, 17}, Shape{1}, Shape{}, Shape{2, 16, 7, 7}, Shape{70000}}) {
    check_fast_path({operand(shape)}, build(), "native", 2e-6);
  }
  check_fast_path({operand({5, 33})}, build(), "native", 1e-2, true, DType::kBF16);
  check_fast_path({operand({0, 4})}, build());
}

class RareUnaryOp : public UnaryOp {};

TEST_P(RareUnaryOp, GradientsMatchCentralDifferences) {
  check_gradients({operand({3, 7})}, build());
  check_fast_path({operand({0, 4})}, build());
}

INSTANTIATE_TEST_SUITE_P(All, RareUnaryOp,
                         ::testing::Values(UnaryCase{"tan", ops::tan, -1.2, 1.2},
                                           UnaryCase{"asin", ops::asin, -0.9, 0.9},
                                           UnaryCase{"acos", ops::acos, -0.9, 0.9}, UnaryCase{"atan", ops::atan},
                                           UnaryCase{"sinh", ops::sinh}, UnaryCase{"cosh", ops::cosh},
                                           UnaryCase{"asinh", ops::asinh}, UnaryCase{"acosh", ops::acosh, 1.2, 5},
                                           UnaryCase{"atanh", ops::atanh, -0.9, 0.9}),
                         [](const auto& test) { return test.param.name; });

Value* gelu_tanh(Value* x) { return ops::gelu(x, true); }

INSTANTIATE_TEST_SUITE_P(
    All, UnaryOp,
    ::testing::Values(UnaryCase{"relu", [](Value* x) { return ops::relu(x); }},
                      UnaryCase{"leaky_relu", [](Value* x) { return ops::leaky_relu(x, 0.1); }},
                      UnaryCase{"elu", [](Value* x) { return ops::elu(x, 0.7); }}, UnaryCase{"selu", ops::selu},
                      UnaryCase{"celu", [](Value* x) { return ops::celu(x, 1.3); }},
                      UnaryCase{"gelu", [](Value* x) { return ops::gelu(x); }}, UnaryCase{"gelu_tanh", gelu_tanh},
                      UnaryCase{"silu", ops::silu, -12, 12}, UnaryCase{"mish", ops::mish, -12, 30},
                      UnaryCase{"sigmoid", ops::sigmoid, -12, 12}, UnaryCase{"log_sigmoid", ops::log_sigmoid, -30, 30},
                      UnaryCase{"hard_sigmoid", ops::hard_sigmoid}, UnaryCase{"hard_swish", ops::hard_swish},
                      UnaryCase{"tanh", ops::tanh},
                      UnaryCase{"softplus", [](Value* x) { return ops::softplus(x, 2); }, -20, 20},
                      UnaryCase{"softsign", ops::softsign},
                      UnaryCase{"hard_shrink", [](Value* x) { return ops::hard_shrink(x); }},
                      UnaryCase{"soft_shrink", [](Value* x) { return ops::soft_shrink(x); }},
                      UnaryCase{"tanh_shrink", ops::tanh_shrink},
                      UnaryCase{"threshold", [](Value* x) { return ops::threshold(x, 0.3, -2); }},
                      UnaryCase{"clip", [](Value* x) { return ops::clip(x, -1.5, 2.5); }}, UnaryCase{"exp", ops::exp},
                      UnaryCase{"log", ops::log, 0.01, 5}, UnaryCase{"sqrt", ops::sqrt, 0.1, 5},
                      UnaryCase{"rsqrt", ops::rsqrt, 0.1, 5}, UnaryCase{"square", ops::square},
                      UnaryCase{"reciprocal", ops::reciprocal, 0.2, 3}, UnaryCase{"abs", ops::abs},
                      UnaryCase{"neg", ops::neg}, UnaryCase{"sign", ops::sign}, UnaryCase{"floor", ops::floor},
                      UnaryCase{"ceil", ops::ceil}, UnaryCase{"round", ops::round}, UnaryCase{"erf", ops::erf},
                      UnaryCase{"sin", ops::sin}, UnaryCase{"cos", ops::cos}),
    [](const auto& test) { return test.param.name; });

Tensor map(Value* (*build)(Value*), const std::vector<float>& values) {
  Graph graph;
  const Shape shape{static_cast<int64_t>(values.size())};
  graph.mark_output(build(graph.input("x", {DType::kF32, shape})));
  return run_graph(graph, {Tensor::from<float>(shape, values)})[0];
}

TEST(Unary, LimitsAreExact) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor e = map(ops::exp, {-kInfinity, -200, 0, 89, kInfinity});
  EXPECT_EQ(e.data<float>()[1], 0.0F);
  EXPECT_EQ(e.data<float>()[2], 1.0F);
  EXPECT_EQ(e.data<float>()[3], kInfinity);
  const Tensor l = map(ops::log, {0, 1, kInfinity, -1, 1e-40F});
  EXPECT_EQ(l.data<float>()[0], -kInfinity);
  EXPECT_EQ(l.data<float>()[1], 0.0F);
  EXPECT_EQ(l.data<float>()[2], kInfinity);
  EXPECT_TRUE(std::isnan(l.data<float>()[3]));
  EXPECT_NEAR(l.data<float>()[4], std::log(1e-40F), 1e-4);
  EXPECT_TRUE(std::isnan(map([](Value* x) { return ops::relu(x); }, {NAN}).data<float>()[0]));
  EXPECT_TRUE(std::isnan(map(ops::tanh, {NAN}).data<float>()[0]));
}

TEST(ElementwiseLayouts, OperandsStayAsTheyLie) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const TensorType type{dtype, {2, 32, 5, 5}};
    check_layouts("relu", {type}, {}, 1e-6);
    check_layouts("add", {type, type}, {}, 1e-6);
    check_layouts("mul", {type, {dtype, {}}}, {}, 1e-6);
    check_layouts("unary_grad", {type, type}, {{"function", std::string("relu")}}, 1e-6);
    check_layouts("dropout", {type}, {{"probability", 0.3}, {"seed", int64_t{7}}}, 1e-2);
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 2, 3}, {2, 3}, {0, 1, 2, 3}, {1}}) {
      check_layouts("reduce_sum", {type}, {{"axes", axes}}, dtype == DType::kF32 ? 1e-5 : 1e-2);
    }
  }
}

TEST(Elementwise, ComparisonsChoiceAndCastsMatchReference) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
           {{3, 17}, {3, 17}}, {{2, 3, 5}, {3, 1}}, {{1}, {1}}, {{0, 4}, {4}}, {{300, 200}, {200}}}) {
    check_fast_path(
        {{a}, {b}},
        [](const std::vector<Value*>& v) {
          Value* less = ops::less(v[0], v[1]);
          Value* any = ops::logical_or(less, ops::greater_equal(v[0], v[1]));
          return std::vector<Value*>{less, ops::where(less, v[0], v[1]), ops::cast(less, DType::kF32),
                                     ops::cast(ops::mul(v[0], 10), DType::kI64), ops::equal(any, less)};
        },
        "native");
  }
}

}  // namespace
}  // namespace thalweg::testing
