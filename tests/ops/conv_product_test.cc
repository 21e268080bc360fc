// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tuple>

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
  for (const char* candidate : {"gemm", "rows", "lines"}) {
    for (const int threads : {1, 2, 4, 5}) check_candidate(operands, build, candidate, kTolerance, threads);
  }
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
    ::testing::Values(
        ProductCase{"pointwise", {2, 64, 7, 9}, {64, 64, 1, 1}, window({}, {})},
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
        ProductCase{"three_channels_7x7", {2, 3, 33, 37}, {70, 3, 7, 7}, window({2, 2}, {3, 3}, {}, "relu")},
        ProductCase{"one_channel_5x5", {3, 1, 28, 28}, {32, 1, 5, 5}, window({}, {2, 2})},
        ProductCase{"several_bands", {2, 3, 61, 300}, {33, 3, 3, 3}, window({1, 2}, {1, 1})},
        ProductCase{"more_padding_than_image", {1, 2, 2, 3}, {18, 2, 3, 3}, window({2, 2}, {5, 4})},
        ProductCase{"more_image_than_read", {1, 3, 9, 11}, {16, 3, 2, 2}, window({3, 4}, {})},
        ProductCase{"dilated", {1, 32, 9, 9}, {32, 32, 3, 3}, window({}, {2, 2}, {2, 2})},
        ProductCase{"blocks_of_gathered_pixels", {1, 160, 30, 31}, {64, 160, 3, 3}, window({2, 2}, {1, 1})}),
    [](const auto& test) { return test.param.name; });

CompileOptions only(const std::string& candidate) {
  CompileOptions options;
  options.only_kernels = {candidate};
  return options;
}

class ConvProductActivation : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ConvProductActivation, FollowsTheResidual) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  const auto [candidate, activation] = GetParam();
  Graph graph;
  const TensorType x{DType::kF32, {2, 150, 9, 9}}, y{DType::kF32, {2, 88, 9, 9}};
  const Attributes attrs{{"activation", std::string(activation)}, {"alpha", -0.5}, {"beta", 0.75}};
  Value* weights = graph.input("w", {DType::kF32, {88, 150, 1, 1}});
  Value* bias = graph.input("b", {DType::kF32, {88}});
  graph.mark_output(
      graph.add("conv", {graph.input("x", x), weights, bias, graph.input("residual", y)}, attrs)->output());
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs()) inputs.push_back(random_tensor(DType::kF32, input->shape(), inputs.size()));
  expect_close(run_graph(graph, inputs, only(candidate))[0], run_graph(graph, inputs, only("reference"))[0], kTolerance,
               "output");
}

INSTANTIATE_TEST_SUITE_P(All, ConvProductActivation,
                         ::testing::Combine(::testing::Values("gemm", "rows"), ::testing::Values("", "relu", "clip")),
                         [](const auto& test) {
                           const std::string activation = std::get<1>(test.param);
                           return std::string(std::get<0>(test.param)) + "_" +
                                  (activation.empty() ? "none" : activation);
                         });

/// The kernels of a convolution of an input [1, w[1], 14, 14].
std::string kernels_for(const Shape& w, bool fixed) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->input("x", {DType::kF32, {1, w[1], 14, 14}});
  Value* weights =
      fixed ? graph->parameter("w", random_tensor(DType::kF32, w, 1)) : graph->input("w", {DType::kF32, w});
  graph->mark_output(ops::conv(x, weights, nullptr, {}));
  auto variables = std::make_shared<Variables>(*graph);
  return Program::compile(std::move(graph), variables, {})->explain();
}

TEST(ConvProductChoice, TakesLayersOfFixedWeightsOnly) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  for (const auto& [w, kernel] : {std::pair(Shape{64, 64, 1, 1}, "native gemm"), {{64, 3, 7, 7}, "native rows"}}) {
    EXPECT_NE(kernels_for(w, true).find(kernel), std::string::npos) << w;
    EXPECT_EQ(kernels_for(w, false).find(kernel), std::string::npos) << w;
  }
}

}  // namespace
}  // namespace thalweg::testing
