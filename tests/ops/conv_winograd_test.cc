// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/kernels/native/winograd_accuracy.h"
#include "runtime/kernels/simd/dispatch.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// Relative to the largest element; seen on the cases below: 2e-6.
constexpr double kTolerance = 1e-5;

struct WinogradCase {
  const char* name;
  Shape x;
  int64_t out_channels;
  std::vector<int64_t> pads;
  bool bias = true;
  const char* activation = "";
};

class Winograd : public ::testing::TestWithParam<WinogradCase> {
 protected:
  void SetUp() override {
    if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  }
};

TEST_P(Winograd, MatchesReferenceForAnyNumberOfThreads) {
  const WinogradCase& test = GetParam();
  std::vector<Operand> operands{{test.x}, {Shape{test.out_channels, test.x[1], 3, 3}}};
  if (test.bias) operands.push_back({Shape{test.out_channels}});
  ops::ConvOptions options;
  options.pads = test.pads;
  options.activation = test.activation;
  const BuildOp build = [&](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::conv(v[0], v[1], v.size() > 2 ? v[2] : nullptr, options)};
  };
  for (const int threads : {1, 2, 5}) check_candidate(operands, build, "winograd", kTolerance, threads);
}

INSTANTIATE_TEST_SUITE_P(All, Winograd,
                         ::testing::Values(WinogradCase{"whole_tiles", {2, 32, 8, 12}, 64, {1, 1}},
                                           WinogradCase{"odd_channels", {2, 17, 9, 8}, 19, {1, 1}, true, "relu"},
                                           WinogradCase{"one_channel", {3, 1, 6, 6}, 1, {1, 1}},
                                           WinogradCase{"one_pixel", {2, 16, 1, 1}, 16, {1, 1}},
                                           WinogradCase{"two_by_three", {1, 16, 2, 3}, 16, {1, 1}},
                                           WinogradCase{"five_by_seven", {1, 40, 5, 7}, 24, {1, 1}, false},
                                           WinogradCase{"small_tiles", {1, 16, 40, 2}, 32, {1, 1}},
                                           WinogradCase{"no_padding", {1, 16, 11, 6}, 16, {0, 0}, true, "relu"},
                                           WinogradCase{"wide_padding", {1, 16, 5, 5}, 16, {2, 3}},
                                           WinogradCase{"uneven_padding", {2, 16, 7, 6}, 16, {0, 2, 1, 0}},
                                           WinogradCase{"blocks_of_one_thread", {2, 32, 50, 50}, 32, {1, 1}},
                                           WinogradCase{"blocks_of_all_threads", {4, 144, 26, 26}, 160, {1, 1}},
                                           WinogradCase{"narrow_panels", {2, 48, 10, 10}, 112, {1, 1}},
                                           WinogradCase{"wide_map_one_row", {1, 16, 1, 70}, 16, {1, 1}}),
                         [](const auto& test) { return test.param.name; });

CompileOptions only(const std::string& candidate) {
  CompileOptions options;
  options.only_kernels = {candidate};
  return options;
}

class WinogradActivation : public ::testing::TestWithParam<const char*> {};

TEST_P(WinogradActivation, FollowsTheResidual) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  Graph graph;
  const TensorType x{DType::kF32, {2, 20, 9, 9}}, y{DType::kF32, {2, 24, 9, 9}};
  const Attributes attrs{
      {"pads", std::vector<int64_t>{1, 1}}, {"activation", std::string(GetParam())}, {"alpha", -0.5}, {"beta", 0.75}};
  Value* weights = graph.input("w", {DType::kF32, {24, 20, 3, 3}});
  Value* bias = graph.input("b", {DType::kF32, {24}});
  graph.mark_output(
      graph.add("conv", {graph.input("x", x), weights, bias, graph.input("residual", y)}, attrs)->output());
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs()) inputs.push_back(random_tensor(DType::kF32, input->shape(), inputs.size()));
  expect_close(run_graph(graph, inputs, only("winograd"))[0], run_graph(graph, inputs, only("reference"))[0],
               kTolerance, "output");
}

INSTANTIATE_TEST_SUITE_P(All, WinogradActivation, ::testing::Values("", "relu", "clip"),
                         [](const auto& test) { return std::string(*test.param != 0 ? test.param : "none"); });

bool uses_winograd(const Graph& graph, const CompileOptions& options) {
  auto copy = graph.clone();
  auto variables = std::make_shared<Variables>(*copy);
  const auto program = Program::compile(std::move(copy), variables, options);
  return program->explain().find("winograd 4x4") != std::string::npos;
}

TEST(WinogradConv, IsChosenWhereItPaysAndNeverUnderStrictMath) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  const auto graph_of = [](int64_t batch, int64_t channels, int64_t extent) {
    auto graph = std::make_unique<Graph>();
    Value* x = graph->input("x", {DType::kF32, {batch, channels, extent, extent}});
    ops::ConvOptions options;
    options.pads = {1, 1};
    Value* w = graph->parameter("w", random_tensor(DType::kF32, {64, channels, 3, 3}, 1));
    graph->mark_output(ops::conv(x, w, nullptr, options));
    return graph;
  };
  EXPECT_TRUE(uses_winograd(*graph_of(8, 64, 28), {}));
  EXPECT_FALSE(uses_winograd(*graph_of(8, 3, 28), {})) << "too few channels";
  EXPECT_FALSE(uses_winograd(*graph_of(1, 64, 3), {})) << "too few tiles";
  CompileOptions strict;
  strict.math = Math::kStrict;
  EXPECT_FALSE(uses_winograd(*graph_of(8, 64, 28), strict));
}

TEST(WinogradConv, IsAccurateForOrdinaryWeights) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  for (const int64_t channels : {1, 17, 64, 512}) {
    const Tensor weights = random_tensor(DType::kF32, {70, channels, 3, 3}, 1);
    EXPECT_LT(winograd_error(weights, 2), 1e-5) << channels;
    EXPECT_LT(winograd_error(weights, 4), 1e-5) << channels;
  }
}

/// Weights that the transform takes beyond the largest float: the direct sum is still finite.
TEST(WinogradConv, DeclinesWhereItsErrorWouldBeLarge) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {8, 64, 28, 28}});
  Value* w = graph.parameter("w", Tensor::full<float>({64, 64, 3, 3}, 1e38F));
  graph.mark_output(ops::conv(x, w));
  EXPECT_FALSE(uses_winograd(graph, {}));
}

TEST(WinogradConv, LeavesABatchOfNoneToOthers) {
  for (const Tuning tuning : {Tuning::kFixed, Tuning::kMeasured}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {0, 64, 28, 28}});
    Value* w = graph.parameter("w", random_tensor(DType::kF32, {64, 64, 3, 3}, 1));
    ops::ConvOptions same;
    same.pads = {1, 1};
    graph.mark_output(ops::conv(x, w, nullptr, same));
    CompileOptions options;
    options.tuning = tuning;
    EXPECT_FALSE(uses_winograd(graph, options));
    EXPECT_EQ(run_graph(graph, {Tensor(DType::kF32, x->shape())}, options)[0].shape(), x->shape());
  }
}

TEST(WinogradConv, GivesTheSameBitsEveryTime) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4, 64, 30, 30}});
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {64, 64, 3, 3}, 1));
  graph.mark_output(ops::conv(x, w));
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, x->shape(), 2)};
  const Tensor first = run_graph(graph, inputs)[0];
  for (int i = 0; i < 3; ++i) expect_close(run_graph(graph, inputs)[0], first, 0, "run");
}

}  // namespace
}  // namespace thalweg::testing
