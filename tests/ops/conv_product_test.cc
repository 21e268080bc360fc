// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/kernels/simd/dispatch.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// Relative to the largest element; seen on the cases below: 8e-7.
constexpr double kTolerance = 5e-6;

struct ProductCase {
  const char* name;
  Shape x;
  Shape w;
  ops::ConvOptions options;
  bool bias = true;
};

class ConvProduct : public ::testing::TestWithParam<ProductCase> {
 protected:
  void SetUp() override {
    if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  }
};

TEST_P(ConvProduct, MatchesReferenceForAnyNumberOfThreads) {
  const ProductCase& test = GetParam();
  std::vector<Operand> operands{{test.x}, {test.w}};
  if (test.bias) operands.push_back({Shape{test.w[0]}});
  const BuildOp build = [&](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::conv(v[0], v[1], v.size() > 2 ? v[2] : nullptr, test.options)};
  };
  for (const int threads : {1, 2, 4, 5}) check_candidate(operands, build, "gemm", kTolerance, threads);
}

ops::ConvOptions window(std::vector<int64_t> strides, std::vector<int64_t> pads, std::vector<int64_t> dilations = {},
                        const char* activation = "") {
  ops::ConvOptions options;
  options.strides = std::move(strides);
  options.pads = std::move(pads);
  options.dilations = std::move(dilations);
  options.activation = activation;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvProduct,
    ::testing::Values(ProductCase{"pointwise", {2, 64, 7, 9}, {64, 64, 1, 1}, window({}, {})},
                      ProductCase{"pointwise_odd_channels", {2, 23, 5, 5}, {37, 23, 1, 1}, window({}, {}, {}, "relu")},
                      ProductCase{"one_channel", {3, 1, 4, 4}, {1, 1, 1, 1}, window({}, {}), false},
                      ProductCase{"one_pixel", {2, 40, 1, 1}, {70, 40, 1, 1}, window({}, {})},
                      ProductCase{"several_chunks", {1, 300, 6, 5}, {130, 300, 1, 1}, window({}, {})},
                      ProductCase{"several_blocks", {2, 544, 24, 25}, {96, 544, 1, 1}, window({}, {})},
                      ProductCase{"pointwise_strided", {2, 40, 9, 7}, {72, 40, 1, 1}, window({2, 3}, {})},
                      ProductCase{"pointwise_padded", {1, 40, 4, 4}, {72, 40, 1, 1}, window({}, {1, 1})},
                      ProductCase{"strided_3x3", {2, 48, 9, 8}, {64, 48, 3, 3}, window({2, 2}, {1, 1}, {}, "relu")},
                      ProductCase{"odd_channels_3x3", {2, 21, 6, 6}, {19, 21, 3, 3}, window({}, {1, 1})},
                      ProductCase{"odd_block_of_eight", {1, 24, 6, 6}, {24, 24, 3, 3}, window({2, 1}, {1, 1})},
                      ProductCase{"uneven_padding", {2, 16, 7, 6}, {16, 16, 3, 2}, window({1, 2}, {0, 2, 1, 0})},
                      ProductCase{"dilated", {1, 32, 9, 9}, {32, 32, 3, 3}, window({}, {2, 2}, {2, 2})},
                      ProductCase{
                          "blocks_of_gathered_pixels", {1, 160, 30, 31}, {64, 160, 3, 3}, window({2, 2}, {1, 1})}),
    [](const auto& test) { return test.param.name; });

CompileOptions only(const std::string& candidate) {
  CompileOptions options;
  options.only_kernels = {candidate};
  return options;
}

class ConvProductActivation : public ::testing::TestWithParam<const char*> {};

TEST_P(ConvProductActivation, FollowsTheResidual) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  Graph graph;
  const TensorType x{DType::kF32, {2, 150, 9, 9}}, y{DType::kF32, {2, 88, 9, 9}};
  const Attributes attrs{{"activation", std::string(GetParam())}, {"low", -0.5}, {"high", 0.75}};
  Value* weights = graph.input("w", {DType::kF32, {88, 150, 1, 1}});
  Value* bias = graph.input("b", {DType::kF32, {88}});
  graph.mark_output(
      graph.add("conv", {graph.input("x", x), weights, bias, graph.input("residual", y)}, attrs)->output());
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs()) inputs.push_back(random_tensor(DType::kF32, input->shape(), inputs.size()));
  expect_close(run_graph(graph, inputs, only("gemm"))[0], run_graph(graph, inputs, only("reference"))[0], kTolerance,
               "output");
}

INSTANTIATE_TEST_SUITE_P(All, ConvProductActivation, ::testing::Values("", "relu", "clip"),
                         [](const auto& test) { return std::string(*test.param != 0 ? test.param : "none"); });

TEST(ConvProductChoice, TakesPointwiseLayersOfFixedWeightsOnly) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  const auto kernels = [](bool fixed) {
    auto graph = std::make_unique<Graph>();
    Value* x = graph->input("x", {DType::kF32, {1, 64, 14, 14}});
    const Shape shape{64, 64, 1, 1};
    Value* w =
        fixed ? graph->parameter("w", random_tensor(DType::kF32, shape, 1)) : graph->input("w", {DType::kF32, shape});
    graph->mark_output(ops::conv(x, w, nullptr, {}));
    auto variables = std::make_shared<Variables>(*graph);
    return Program::compile(std::move(graph), variables, {})->explain();
  };
  EXPECT_NE(kernels(true).find("native gemm"), std::string::npos);
  EXPECT_EQ(kernels(false).find("native gemm"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::testing
