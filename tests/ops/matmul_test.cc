// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct MatmulCase {
  Shape a, b;
  bool transpose_a = false, transpose_b = false;
};

BuildOp build_matmul(const MatmulCase& test) {
  return [test](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::matmul(v[0], v[1], test.transpose_a, test.transpose_b)};
  };
}

const std::vector<MatmulCase> kSmall = {
    {{3, 4}, {4, 5}},
    {{4, 3}, {5, 4}, true, true},
    {{2, 3, 4}, {4, 5}},
    {{2, 3, 4}, {5, 4}, false, true},
    {{2, 1, 3, 4}, {3, 4, 2}},
    {{2, 4, 3}, {4, 5}, true, false},
    {{4}, {4, 3}},
    {{2, 3, 4}, {4}},
    {{4}, {4}},
};

TEST(Matmul, GradientsMatchCentralDifferences) {
  for (const MatmulCase& test : kSmall) check_gradients({{test.a}, {test.b}}, build_matmul(test));
}

TEST(Matmul, FastPathMatchesReference) {
  for (const MatmulCase& test : kSmall) check_fast_path({{test.a}, {test.b}}, build_matmul(test), "onednn");
  const MatmulCase larger[] = {{{7, 33, 19}, {7, 19, 65}}, {{1, 1}, {1, 1}}, {{130, 17}, {130, 3}, true}};
  for (const MatmulCase& test : larger) check_fast_path({{test.a}, {test.b}}, build_matmul(test), "onednn");
  check_fast_path({{{6, 33}}, {{33, 16}}}, build_matmul({{}, {}}), "onednn", 2e-2, true, DType::kBF16);
}

TEST(Matmul, EmptyBatchGivesZerosOfTheRightShape) {
  const MatmulCase test{{0, 3, 4}, {4, 5}};
  check_fast_path({{test.a}, {test.b}}, build_matmul(test), "reference");
}

TEST(Matmul, InnerDimensionsThatDifferAreNamed) {
  Graph graph;
  Value* a = graph.input("a", {DType::kF32, {2, 3}});
  Value* b = graph.input("b", {DType::kF32, {4, 5}});
  try {
    ops::matmul(a, b, false, false, "scores");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("matmul 'scores'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("inner dimensions 3 and 4"), std::string::npos) << error.what();
  }
}

class Linear : public ::testing::TestWithParam<const char*> {
 protected:
  static BuildOp build() {
    const std::string activation = GetParam();
    return [activation](const std::vector<Value*>& v) {
      return std::vector<Value*>{ops::linear(v[0], v[1], v.size() > 2 ? v[2] : nullptr, activation)};
    };
  }
};

TEST_P(Linear, GradientsMatchCentralDifferences) {
  check_gradients({{{3, 4}}, {{5, 4}}, {{5}}}, build());
  check_gradients({{{2, 3, 4}}, {{5, 4}}}, build());
  check_gradients({{{4}}, {{5, 4}}, {{5}}}, build());
}

TEST_P(Linear, FastPathMatchesReference) {
  for (const Shape& x : std::vector<Shape>{{3, 17}, {2, 5, 17}, {1, 17}, {17}}) {
    check_fast_path({{x}, {{33, 17}}, {{33}}}, build(), "onednn");
    check_fast_path({{x}, {{130, 17}}}, build(), "onednn");
  }
  check_fast_path({{{1, 1}}, {{1, 1}}, {{1}}}, build(), "onednn");
  check_fast_path({{{0, 17}}, {{33, 17}}, {{33}}}, build(), "reference");
  check_fast_path({{{9, 32}}, {{48, 32}}}, build(), "onednn", 2e-2, true, DType::kBF16);
}

INSTANTIATE_TEST_SUITE_P(All, Linear, ::testing::Values("", "relu", "gelu", "gelu_tanh", "tanh", "sigmoid"),
                         [](const auto& test) { return *test.param == '\0' ? "none" : std::string(test.param); });

TEST(LinearOp, AFusedGeluIsDifferentiatedByComputingTheSumAgain) {
  const auto build = [](const std::vector<Value*>& v) {
    return v[0]->graph().add("linear", {v[0], v[1], v[2]}, {{"activation", std::string("gelu")}})->outputs();
  };
  check_gradients({{{3, 4}}, {{5, 4}}, {{5}}}, build);
  check_fast_path({{{3, 4}}, {{5, 4}}, {{5}}}, build, "onednn");
}

TEST(LinearOp, WeightsGradientOfNarrowDataMayBeWide) {
  Graph graph;
  Value* dy = graph.input("dy", {DType::kBF16, {6, 5}});
  Value* x = graph.input("x", {DType::kBF16, {6, 40}});
  Node* node = graph.add("linear_grad_weights", {dy, x}, {{"weights_dtype", std::string("f32")}, {"bias", int64_t{1}}});
  for (Value* output : node->outputs()) graph.mark_output(output);
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, {6, 5}, 1).to(DType::kBF16),
                                   random_tensor(DType::kF32, {6, 40}, 2).to(DType::kBF16)};
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  const auto expected = run_graph(graph, inputs, reference);
  const auto actual = run_graph(graph, inputs);
  for (size_t i = 0; i < 2; ++i) expect_close(actual[i], expected[i], 1e-5, "output");
}

TEST(LinearOp, FeaturesThatDoNotFitAreNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  Value* weight = graph.input("w", {DType::kF32, {5, 4}});
  try {
    ops::linear(x, weight, nullptr, "", "head");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("linear 'head'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("3 features"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ops::linear(x, weight, nullptr, "swish"), Error);
}

}  // namespace
}  // namespace thalweg::testing
