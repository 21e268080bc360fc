// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions of small groups or few channels, computed as such of whole blocks.
#include <gtest/gtest.h>

#include "runtime/kernels/simd/channel_blocks.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

constexpr double kTolerance = 5e-6;

struct GroupCase {
  const char* name;
  Shape x;
  Shape w;
  ops::ConvOptions options;
  bool bias = true;
};

ops::ConvOptions groups(int64_t count, std::vector<int64_t> strides = {}, std::vector<int64_t> pads = {},
                        std::vector<int64_t> dilations = {}, const char* activation = "") {
  ops::ConvOptions options;
  options.groups = count;
  options.strides = std::move(strides);
  options.pads = std::move(pads);
  options.dilations = std::move(dilations);
  options.activation = activation;
  return options;
}

bool wide_blocks() { return simd::block_lanes(simd::best_isa()) == 16; }

class ConvInBlocks : public ::testing::TestWithParam<GroupCase> {
 protected:
  void SetUp() override {
    const bool of_four = GetParam().w[1] == 4 && GetParam().options.groups % 2 == 0;
    if (!wide_blocks() && !of_four) GTEST_SKIP() << "the case is for blocks of 16 channels";
  }
};

TEST_P(ConvInBlocks, MatchesReference) {
  const GroupCase& test = GetParam();
  std::vector<Operand> operands{{test.x}, {test.w}};
  if (test.bias) operands.push_back({Shape{test.w[0]}});
  const BuildOp build = [&](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::conv(v[0], v[1], v.size() > 2 ? v[2] : nullptr, test.options)};
  };
  for (const int threads : {1, 2, 3}) check_candidate(operands, build, "joined", kTolerance, threads);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvInBlocks,
    ::testing::Values(GroupCase{"groups_of_four", {2, 32, 7, 9}, {32, 4, 3, 3}, groups(8, {}, {1, 1}, {}, "relu")},
                      GroupCase{"groups_of_eight_odd", {2, 104, 6, 5}, {104, 8, 3, 3}, groups(13, {2, 2}, {1, 1})},
                      GroupCase{"groups_of_two", {1, 16, 5, 5}, {16, 2, 3, 3}, groups(8, {}, {1, 1}), false},
                      GroupCase{"groups_of_24", {1, 96, 5, 5}, {96, 24, 3, 3}, groups(4, {}, {1, 1})},
                      GroupCase{"more_outputs", {2, 32, 6, 6}, {64, 8, 3, 3}, groups(4, {}, {1, 1})},
                      GroupCase{"fewer_outputs", {2, 64, 6, 6}, {32, 16, 3, 3}, groups(4, {}, {1, 1})},
                      GroupCase{"two_channels_to_four", {1, 32, 5, 4}, {64, 2, 1, 1}, groups(16)},
                      GroupCase{"dilated", {1, 32, 9, 9}, {32, 8, 3, 3}, groups(4, {}, {2, 2}, {2, 2})},
                      GroupCase{"uneven", {1, 32, 7, 6}, {32, 4, 3, 2}, groups(8, {1, 2}, {0, 1, 1, 0})},
                      GroupCase{"signals", {2, 32, 33}, {32, 4, 5}, groups(8, {2}, {2})},
                      GroupCase{"volumes", {1, 32, 3, 5, 4}, {32, 8, 3, 3, 3}, groups(4, {}, {1, 1, 1})},
                      GroupCase{"one_pixel", {3, 32, 1, 1}, {32, 4, 1, 1}, groups(8)},
                      GroupCase{"twelve_channels", {2, 12, 7, 9}, {12, 12, 3, 3}, groups(1, {}, {1, 1}, {}, "relu")},
                      GroupCase{"eight_channels_to_many", {1, 8, 6, 6}, {40, 8, 5, 5}, groups(1, {2, 2}, {2, 2})},
                      GroupCase{"fifteen_channels_of_signals", {2, 15, 20}, {3, 15, 3}, groups(1, {}, {1}), false}),
    [](const auto& test) { return test.param.name; });

CompileOptions only(const std::string& candidate) {
  CompileOptions options;
  options.only_kernels = {candidate};
  return options;
}

TEST(ConvInBlocksEnding, FollowsTheResidual) {
  if (!wide_blocks()) GTEST_SKIP() << "the cases are for blocks of 16 channels";
  for (const char* activation : {"", "relu", "tanh"}) {
    Graph graph;
    const TensorType x{DType::kF32, {2, 24, 5, 5}};
    const Attributes attrs{{"activation", std::string(activation)}, {"groups", int64_t{6}}, {"scale", 0.5}};
    std::vector<Value*> operands{graph.input("x", x), graph.input("w", {DType::kF32, {24, 4, 1, 1}}),
                                 graph.input("b", {DType::kF32, {24}}), graph.input("residual", x)};
    graph.mark_output(graph.add("conv", operands, attrs)->output());
    std::vector<Tensor> inputs;
    for (const Value* input : graph.inputs())
      inputs.push_back(random_tensor(DType::kF32, input->shape(), inputs.size()));
    expect_close(run_graph(graph, inputs, only("joined"))[0], run_graph(graph, inputs, only("reference"))[0],
                 kTolerance, activation);
  }
}

/// What Program::explain says of a convolution with fixed weights of an input that another one leaves.
std::string kernels_for(int64_t channels, const Shape& w, const ops::ConvOptions& options, int64_t batch = 2,
                        const char* activation = "") {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->input("x", {DType::kF32, {batch, 32, 9, 9}});
  Value* before = ops::conv(x, graph->parameter("v", random_tensor(DType::kF32, {channels, 32, 1, 1}, 1)));
  Value* y = ops::conv(before, graph->parameter("w", random_tensor(DType::kF32, w, 2)), nullptr, options);
  if (activation[0] != '\0') graph->set_attribute(y->producer(), "activation", std::string(activation));
  graph->mark_output(y);
  auto variables = std::make_shared<Variables>(*graph);
  return Program::compile(std::move(graph), variables, {})->explain();
}

TEST(ConvInBlocksChoice, TakesWhatWouldHalfFillBlocks) {
  if (!wide_blocks()) GTEST_SKIP() << "the cases are for blocks of 16 channels";
  const auto taken = [](const std::string& explained) { return explained.find("core joined") != std::string::npos; };
  EXPECT_TRUE(taken(kernels_for(64, {64, 4, 3, 3}, groups(16))));
  EXPECT_TRUE(taken(kernels_for(12, {12, 12, 3, 3}, groups(1))));
  EXPECT_TRUE(taken(kernels_for(24, {24, 8, 3, 3}, groups(3))));
  // Groups that fill blocks, groups of one channel, groups that would be mostly zeros, few channels.
  EXPECT_FALSE(taken(kernels_for(64, {64, 16, 3, 3}, groups(4))));
  EXPECT_FALSE(taken(kernels_for(64, {64, 1, 3, 3}, groups(64))));
  EXPECT_FALSE(taken(kernels_for(60, {60, 20, 3, 3}, groups(3))));
  EXPECT_FALSE(taken(kernels_for(4, {12, 4, 3, 3}, groups(1))));
  // Padding would not stay zero.
  EXPECT_FALSE(taken(kernels_for(24, {24, 8, 3, 3}, groups(3), 2, "sigmoid")));
  EXPECT_TRUE(taken(kernels_for(32, {32, 8, 3, 3}, groups(4), 2, "sigmoid")));
  EXPECT_FALSE(taken(kernels_for(64, {64, 4, 3, 3}, groups(16), 0)));
}

}  // namespace
}  // namespace thalweg::testing
