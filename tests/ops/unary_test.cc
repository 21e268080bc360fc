// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/unary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/kernel_check.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// A row for each of src/ops/unary.cc: where the function is checked, and one value that it is known to have.
struct UnaryCase {
  const char* name;
  double at, gives;
  double low = -4, high = 4;
  Attributes attrs = {};
};

const UnaryCase kCases[] = {
    {"relu", -1, 0},
    {"leaky_relu", -2, -0.2, -4, 4, {{"negative_slope", 0.1}}},
    {"elu", -1, 0.7 * (1 / M_E - 1), -4, 4, {{"alpha", 0.7}}},
    {"selu", 1, 1.0507009873554805},
    {"celu", -1.3, 1.3 * (1 / M_E - 1), -4, 4, {{"alpha", 1.3}}},
    {"gelu", 1, 0.8413447460685429},
    {"gelu_tanh", 1, 0.8411919906082768},
    {"silu", 1, M_E / (1 + M_E), -12, 12},
    {"mish", 0.5, 0.3752452113048951, -12, 30},
    {"sigmoid", 0, 0.5, -12, 12},
    {"log_sigmoid", 0, -M_LN2, -30, 30},
    {"hard_sigmoid", 1.5, 0.75},
    {"hard_swish", 1.5, 1.125},
    {"tanh", 1, 0.7615941559557649},
    {"softplus", 0, M_LN2 / 2, -20, 20, {{"beta", 2.0}}},
    {"softsign", -1, -0.5},
    {"hard_shrink", 0.4, 0},
    {"soft_shrink", -2, -1.5},
    {"tanh_shrink", 1, 0.2384058440442351},
    {"threshold", 0.2, -2, -4, 4, {{"threshold", 0.3}, {"value", -2.0}}},
    {"clip", 3, 2.5, -4, 4, {{"low", -1.5}, {"high", 2.5}}},
    {"exp", 1, M_E},
    {"log", 2, M_LN2, 0.01, 5},
    {"expm1", 1e-10, 1.00000000005e-10, -5, 2},
    {"log1p", 1e-10, 9.9999999995e-11, -0.9, 5},
    {"sqrt", 2, M_SQRT2, 0.1, 5},
    {"rsqrt", 4, 0.5, 0.1, 5},
    {"square", -3, 9},
    {"reciprocal", 4, 0.25, 0.2, 3},
    {"abs", -3, 3},
    {"neg", 2, -2},
    {"sign", -3, -1},
    {"floor", -1.5, -2},
    {"ceil", -1.5, -1},
    {"round", 2.5, 2},
    {"erf", 1, 0.8427007929497149},
    {"sin", M_PI / 6, 0.5},
    {"cos", M_PI / 3, 0.5},
    {"tan", M_PI / 4, 1, -1.2, 1.2},
    {"asin", 0.5, M_PI / 6, -0.9, 0.9},
    {"acos", 0.5, M_PI / 3, -0.9, 0.9},
    {"atan", 1, M_PI / 4},
    {"sinh", 1, 1.1752011936438014},
    {"cosh", 1, 1.5430806348152437},
    {"asinh", 1, 0.881373587019543},
    {"acosh", 2, 1.3169578969248166, 1.2, 5},
    {"atanh", 0.5, 0.5493061443340548, -0.9, 0.9},
};

class UnaryOp : public ::testing::TestWithParam<UnaryCase> {
 protected:
  static BuildOp build() {
    return [](const std::vector<Value*>& v) {
      return v[0]->graph().add(GetParam().name, {v[0]}, GetParam().attrs)->outputs();
    };
  }
  static Operand operand(const Shape& shape) { return {shape, GetParam().low, GetParam().high}; }
};

TEST_P(UnaryOp, HasTheKnownValue) {
  Graph graph;
  graph.mark_output(build()({graph.input("x", {DType::kF64, {1}})})[0]);
  const Tensor y = run_graph(graph, {Tensor::from<double>({1}, {GetParam().at})})[0];
  EXPECT_NEAR(y.data<double>()[0], GetParam().gives, 1e-8 * std::fabs(GetParam().gives));
}

TEST_P(UnaryOp, GradientsMatchCentralDifferences) { check_gradients({operand({3, 7})}, build()); }

TEST_P(UnaryOp, FastPathMatchesReference) {
  for (const Shape& shape : {Shape{3, 17}, Shape{1}, Shape{}, Shape{2, 16, 7, 7}, Shape{70000}}) {
    check_fast_path({operand(shape)}, build(), "native", 2e-6);
  }
  check_fast_path({operand({5, 33})}, build(), "", 1e-2, true, DType::kBF16);
  check_fast_path({operand({0, 4})}, build());
}

INSTANTIATE_TEST_SUITE_P(All, UnaryOp, ::testing::ValuesIn(kCases), [](const auto& test) { return test.param.name; });

TEST(Unary, EveryFunctionHasACase) {
  for (const UnaryFunction& function : unary_functions()) {
    const bool known = std::any_of(std::begin(kCases), std::end(kCases),
                                   [&](const UnaryCase& test) { return test.name == function.name; });
    EXPECT_TRUE(known) << function.name;
  }
}

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
