// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/kernels/simd/dispatch.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct TransposeCase {
  const char* name;
  Shape x;
  Shape w;
  ops::ConvTransposeOptions options;
  bool bias = true;
};

std::vector<Operand> operands(const TransposeCase& test) {
  std::vector<Operand> result{{test.x}, {test.w}};
  if (test.bias) result.push_back({Shape{test.w[1] * test.options.groups}});
  return result;
}

BuildOp build(const TransposeCase& test) {
  return [test](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::conv_transpose(v[0], v[1], v.size() > 2 ? v[2] : nullptr, test.options)};
  };
}

class TransposeGradients : public ::testing::TestWithParam<TransposeCase> {};
class TransposeFastPath : public ::testing::TestWithParam<TransposeCase> {};

TEST_P(TransposeGradients, MatchCentralDifferences) { check_gradients(operands(GetParam()), build(GetParam())); }

TEST_P(TransposeFastPath, MatchesReference) {
  const bool empty = GetParam().x.num_elements() == 0;
  check_fast_path(operands(GetParam()), build(GetParam()), empty ? "" : "onednn");
  check_fast_path(operands(GetParam()), build(GetParam()), "", 2e-2, true, DType::kBF16);
}

INSTANTIATE_TEST_SUITE_P(
    All, TransposeGradients,
    ::testing::Values(TransposeCase{"plain", {2, 3, 4, 3}, {3, 2, 3, 2}, {}},
                      TransposeCase{"strided", {1, 2, 3, 4}, {2, 3, 3, 3}, {{2, 2}, {1, 1}, {1, 0}, {}, 1}},
                      TransposeCase{"dilated", {1, 2, 4, 4}, {2, 2, 2, 3}, {{}, {1, 2}, {}, {2, 2}, 1}, false},
                      TransposeCase{"grouped", {1, 4, 3, 3}, {4, 3, 2, 2}, {{2, 2}, {}, {}, {}, 2}},
                      TransposeCase{"one_dimension", {2, 2, 5}, {2, 3, 3}, {{3}, {1}, {2}, {}, 1}},
                      TransposeCase{"three_dimensions", {1, 2, 2, 3, 2}, {2, 2, 2, 2, 3}, {{1, 2, 1}, {}, {}, {}, 1}}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    All, TransposeFastPath,
    ::testing::Values(TransposeCase{"upsample", {2, 32, 7, 7}, {32, 16, 4, 4}, {{2, 2}, {1, 1}, {}, {}, 1}},
                      TransposeCase{"output_padding", {2, 16, 7, 5}, {16, 32, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1}},
                      TransposeCase{"odd_channels", {1, 3, 6, 6}, {3, 17, 3, 3}, {{2, 2}, {}, {}, {}, 1}},
                      TransposeCase{"grouped", {2, 32, 6, 6}, {32, 8, 3, 3}, {{2, 2}, {1, 1}, {}, {}, 2}},
                      TransposeCase{"depthwise", {1, 16, 6, 6}, {16, 1, 3, 3}, {{}, {1, 1}, {}, {}, 16}, false},
                      TransposeCase{"dilated", {1, 16, 6, 6}, {16, 16, 3, 3}, {{}, {2, 2}, {}, {2, 2}, 1}},
                      TransposeCase{"single", {1, 1, 1, 1}, {1, 1, 1, 1}, {}},
                      TransposeCase{"batch_of_none", {0, 2, 4, 4}, {2, 3, 3, 3}, {}},
                      TransposeCase{"one_dimension", {2, 16, 9}, {16, 16, 4}, {{2}, {1}, {}, {}, 1}},
                      TransposeCase{
                          "three_dimensions", {1, 16, 3, 4, 5}, {16, 16, 2, 2, 2}, {{2, 2, 2}, {}, {}, {}, 1}}),
    [](const auto& test) { return test.param.name; });

class TransposeSpread : public ::testing::TestWithParam<TransposeCase> {};

TEST_P(TransposeSpread, MatchesReferenceForAnyNumberOfThreads) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  for (const int threads : {1, 2, 3}) {
    check_candidate(operands(GetParam()), build(GetParam()), "spread", 5e-6, threads);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TransposeSpread,
    ::testing::Values(TransposeCase{"doubled", {2, 24, 7, 9}, {24, 24, 2, 2}, {{2, 2}, {}, {}, {}, 1}},
                      TransposeCase{"to_one_channel", {2, 24, 5, 6}, {24, 1, 2, 2}, {{2, 2}, {}, {}, {}, 1}},
                      TransposeCase{"to_few_channels", {1, 5, 4, 3}, {5, 7, 3, 2}, {{3, 2}, {}, {}, {}, 1}, false},
                      TransposeCase{"to_many_channels", {1, 70, 3, 3}, {70, 70, 2, 2}, {{2, 2}, {}, {}, {}, 1}},
                      TransposeCase{"of_one_channel", {3, 1, 4, 5}, {1, 9, 4, 1}, {{4, 1}, {}, {}, {}, 1}},
                      TransposeCase{"several_bands", {1, 16, 90, 70}, {16, 33, 2, 2}, {{2, 2}, {}, {}, {}, 1}},
                      TransposeCase{"one_by_one", {1, 20, 5, 5}, {20, 18, 1, 1}, {}}),
    [](const auto& test) { return test.param.name; });

TEST(ConvTranspose, SpreadEndsInAnActivation) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  for (const char* activation : {"relu", "tanh"}) {
    Graph graph;
    const Attributes attrs{{"activation", std::string(activation)}, {"strides", std::vector<int64_t>{2, 2}}};
    Value* x = graph.input("x", {DType::kF32, {2, 20, 5, 5}});
    Value* w = graph.input("w", {DType::kF32, {20, 21, 2, 2}});
    graph.mark_output(graph.add("conv_transpose", {x, w, graph.input("b", {DType::kF32, {21}})}, attrs)->output());
    std::vector<Tensor> inputs;
    for (const Value* input : graph.inputs())
      inputs.push_back(random_tensor(DType::kF32, input->shape(), inputs.size()));
    CompileOptions spread, reference;
    spread.only_kernels = {"spread"};
    reference.only_kernels = {"reference"};
    expect_close(run_graph(graph, inputs, spread)[0], run_graph(graph, inputs, reference)[0], 5e-6, activation);
  }
}

TEST(ConvTranspose, BadInputIsNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 8, 8}});
  Value* w = graph.input("w", {DType::kF32, {4, 3, 3, 3}});
  Value* good = graph.input("good", {DType::kF32, {3, 3, 3, 3}});
  EXPECT_THROW(ops::conv_transpose(x, w), Error);
  ops::ConvTransposeOptions options;
  options.output_padding = {1, 0};
  try {
    ops::conv_transpose(x, good, nullptr, options, "up");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("conv_transpose 'up'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("output_padding"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("[2,3,8,8]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace thalweg::testing
