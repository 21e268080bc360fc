// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct ConvCase {
  const char* name;
  Shape x;
  Shape w;
  ops::ConvOptions options;
  bool bias = true;
};

std::vector<Operand> operands(const ConvCase& test) {
  std::vector<Operand> result{{test.x}, {test.w}};
  if (test.bias) result.push_back({Shape{test.w[0]}});
  return result;
}

BuildOp build(const ConvCase& test) {
  return [test](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::conv(v[0], v[1], v.size() > 2 ? v[2] : nullptr, test.options)};
  };
}

using Cases = ::testing::TestWithParam<ConvCase>;
class ConvGradients : public Cases {};
class ConvFastPath : public Cases {};

TEST_P(ConvGradients, MatchCentralDifferences) { check_gradients(operands(GetParam()), build(GetParam())); }

TEST_P(ConvFastPath, MatchesReference) {
  const bool empty = GetParam().x.num_elements() == 0;
  check_fast_path(operands(GetParam()), build(GetParam()), empty ? "" : "onednn");
}

TEST_P(ConvFastPath, MatchesReferenceInBf16) {
  check_fast_path(operands(GetParam()), build(GetParam()), "", 2e-2, true, DType::kBF16);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvGradients,
    ::testing::Values(ConvCase{"plain", {2, 3, 5, 4}, {4, 3, 3, 2}, {}},
                      ConvCase{"stride_pad", {1, 2, 6, 5}, {3, 2, 3, 3}, {{2, 1}, {1, 2}, {}, 1, ""}},
                      ConvCase{"asymmetric", {1, 2, 5, 5}, {2, 2, 2, 3}, {{1, 2}, {0, 1, 1, 2}, {}, 1, ""}},
                      ConvCase{"dilated", {1, 2, 7, 7}, {2, 2, 3, 2}, {{}, {1, 1}, {2, 3}, 1, ""}, false},
                      ConvCase{"grouped", {2, 4, 4, 4}, {6, 2, 3, 3}, {{}, {1, 1}, {}, 2, ""}},
                      ConvCase{"depthwise", {1, 3, 5, 5}, {3, 1, 3, 3}, {{2, 2}, {1, 1}, {}, 3, ""}},
                      ConvCase{"relu", {2, 2, 4, 4}, {3, 2, 3, 3}, {{}, {1, 1}, {}, 1, "relu"}},
                      ConvCase{"one_dimension", {2, 3, 8}, {4, 3, 3}, {{2}, {1}, {}, 1, ""}},
                      ConvCase{
                          "three_dimensions", {1, 2, 3, 4, 3}, {2, 2, 2, 3, 2}, {{1, 2, 1}, {1, 0, 1}, {}, 1, ""}}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    All, ConvFastPath,
    ::testing::Values(ConvCase{"first_layer", {2, 3, 32, 32}, {64, 3, 7, 7}, {{2, 2}, {3, 3}, {}, 1, ""}},
                      ConvCase{"blocked", {2, 32, 14, 14}, {48, 32, 3, 3}, {{}, {1, 1}, {}, 1, "relu"}},
                      ConvCase{"pointwise", {2, 64, 7, 7}, {32, 64, 1, 1}, {}, false},
                      ConvCase{"strided_pointwise", {2, 32, 9, 9}, {16, 32, 1, 1}, {{2, 2}, {}, {}, 1, ""}},
                      ConvCase{"odd_channels", {2, 17, 9, 8}, {19, 17, 3, 3}, {{}, {1, 1}, {}, 1, "relu"}},
                      ConvCase{"single", {1, 1, 1, 1}, {1, 1, 1, 1}, {}},
                      ConvCase{"batch_of_none", {0, 3, 8, 8}, {4, 3, 3, 3}, {}},
                      ConvCase{"asymmetric", {2, 16, 9, 9}, {16, 16, 3, 3}, {{2, 2}, {0, 1, 2, 1}, {}, 1, ""}},
                      ConvCase{"unused_end_of_padding", {1, 16, 8, 8}, {16, 16, 3, 3}, {{2, 2}, {1, 1}, {}, 1, ""}},
                      ConvCase{"dilated", {1, 16, 12, 12}, {16, 16, 3, 3}, {{}, {2, 2}, {2, 2}, 1, ""}},
                      ConvCase{"grouped", {2, 32, 8, 8}, {64, 8, 3, 3}, {{}, {1, 1}, {}, 4, ""}},
                      ConvCase{"odd_groups", {2, 9, 6, 6}, {6, 3, 3, 3}, {{}, {1, 1}, {}, 3, ""}},
                      ConvCase{"depthwise", {2, 32, 10, 10}, {32, 1, 3, 3}, {{2, 2}, {1, 1}, {}, 32, "relu"}},
                      ConvCase{"one_dimension", {2, 16, 33}, {24, 16, 5}, {{2}, {2}, {}, 1, ""}},
                      ConvCase{"three_dimensions", {1, 16, 5, 6, 7}, {16, 16, 3, 3, 3}, {{}, {1, 1, 1}, {}, 1, ""}}),
    [](const auto& test) { return test.param.name; });

/// A training program keeps grouped weights in the layout that oneDNN chose, and gives them back row-major.
TEST(Conv, ParametersAdoptLayoutsAndReadBack) {
  for (const int64_t groups : {1, 2, 32}) {
    Graph graph;
    const Tensor weights = random_tensor(DType::kF32, {32, 32 / groups, 3, 3}, 3);
    Value* x = graph.input("x", {DType::kF32, {1, 32, 6, 6}});
    Value* w = graph.parameter("w", weights.clone());
    ops::ConvOptions options;
    options.groups = groups;
    graph.mark_output(ops::conv(x, w, nullptr, options));
    auto variables = std::make_shared<Variables>(graph);
    CompileOptions training;
    training.training = true;
    const auto program = Program::compile(graph.clone(), variables, training);
    EXPECT_FALSE(variables->layout(0).is_plain()) << program->explain();
    expect_close(variables->read(0), weights, 0, "weights");
  }
}

/// The weights' gradient of a bf16 convolution may be f32.
TEST(Conv, WeightGradientsMayBeWider) {
  Graph graph;
  Value* dy = graph.input("dy", {DType::kBF16, {2, 16, 6, 6}});
  Value* x = graph.input("x", {DType::kBF16, {2, 16, 6, 6}});
  const Attributes attrs{{"kernel", std::vector<int64_t>{3, 3}},
                         {"pads", std::vector<int64_t>{1, 1}},
                         {"weights_dtype", std::string("f32")}};
  graph.mark_output(graph.add("conv_grad_weights", {dy, x}, attrs)->output());
  const std::vector<Tensor> inputs{random_tensor(DType::kBF16, {2, 16, 6, 6}, 1),
                                   random_tensor(DType::kBF16, {2, 16, 6, 6}, 2)};
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  expect_close(run_graph(graph, inputs)[0], run_graph(graph, inputs, reference)[0], 1e-4, "dw");
}

TEST(Conv, FreeBatchAndExtentsStayFree) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 3, kFree, 8}});
  Value* w = graph.parameter("w", Tensor::zeros(DType::kF32, {4, 3, 3, 3}));
  EXPECT_EQ(ops::conv(x, w)->shape(), (Shape{kFree, 4, kFree, 6}));
}

void expect_error(const std::function<void()>& body, const std::vector<std::string>& parts) {
  try {
    body();
    FAIL() << "no error";
  } catch (const Error& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(Conv, BadInputIsNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 8, 8}});
  Value* w4 = graph.input("w4", {DType::kF32, {4, 4, 3, 3}});
  Value* w3 = graph.input("w3", {DType::kF32, {4, 3, 3, 3}});
  Value* huge = graph.input("huge", {DType::kF32, {4, 3, 9, 3}});
  Value* bias = graph.input("bias", {DType::kF32, {5}});
  expect_error([&] { ops::conv(x, w4, nullptr, {}, "c1"); }, {"conv 'c1'", "3 channels", "[2,3,8,8]"});
  expect_error([&] { ops::conv(x, w3, bias, {}, "c2"); }, {"conv 'c2'", "bias", "[5]"});
  expect_error([&] { ops::conv(x, huge, nullptr, {}, "c3"); }, {"conv 'c3'", "reaches over 9", "[4,3,9,3]"});
  expect_error([&] { ops::conv(x, w3, nullptr, {{1, 1, 1}, {}, {}, 1, ""}); }, {"strides has 3 entries"});
  expect_error([&] { ops::conv(x, w3, nullptr, {{}, {}, {}, 3, ""}); }, {"4 output channels", "3 groups"});
  expect_error([&] { ops::conv(x, w3, nullptr, {{}, {}, {}, 1, "swish"}); }, {"swish"});
}

}  // namespace
}  // namespace thalweg::testing
