// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "support/op_check.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;

size_t count(const Graph& graph, const std::string& op) {
  size_t found = 0;
  for (const auto& node : graph.nodes()) found += node->op_name() == op ? 1 : 0;
  return found;
}

/// Two residual blocks, the first with a convolution on the shortcut, as in ResNet.
struct ResidualNet {
  Graph graph{"residual"};
  Value* loss = nullptr;
  uint64_t seed = 10;

  Value* conv(Value* x, int64_t out, int64_t kernel, const std::string& name) {
    const int64_t in = x->shape()[1];
    Value* w = graph.parameter(name + ".w", random_tensor(DType::kF32, {out, in, kernel, kernel}, seed++, -0.3, 0.3));
    return ops::conv(x, w, nullptr,
                     {.strides = {}, .pads = {kernel / 2, kernel / 2}, .dilations = {}, .groups = 1, .activation = {}},
                     name);
  }

  Value* norm(Value* x, const std::string& name) {
    const Shape channels{x->shape()[1]};
    Value* scale = graph.parameter(name + ".scale", random_tensor(DType::kF32, channels, seed++, 0.5, 1.5));
    Value* shift = graph.parameter(name + ".shift", random_tensor(DType::kF32, channels, seed++));
    Value* mean = graph.state(name + ".mean", random_tensor(DType::kF32, channels, seed++));
    Value* variance = graph.state(name + ".variance", random_tensor(DType::kF32, channels, seed++, 0.5, 1.5));
    const auto outputs = ops::batch_norm(x, scale, shift, nullptr, 1e-5, "", name);
    graph.set_attribute(outputs.y->producer(), "running_mean", mean->name());
    graph.set_attribute(outputs.y->producer(), "running_variance", variance->name());
    graph.assign(mean, ops::add(ops::mul(mean, 0.9), ops::mul(outputs.mean, 0.1)));
    graph.assign(variance, ops::add(ops::mul(variance, 0.9), ops::mul(outputs.variance, 0.1)));
    return outputs.y;
  }

  Value* block(Value* x, int64_t channels, bool shortcut, const std::string& name) {
    Value* y = ops::relu(norm(conv(x, channels, 3, name + ".conv1"), name + ".norm1"));
    y = norm(conv(y, channels, 3, name + ".conv2"), name + ".norm2");
    // Computed after the batch norm that the sum is fused into.
    Value* side = shortcut ? norm(conv(x, channels, 1, name + ".side"), name + ".norm3") : x;
    return ops::relu(ops::add(y, side));
  }

  ResidualNet() {
    Value* x = graph.input("x", {DType::kF32, {2, 16, 6, 6}});
    Value* y = block(block(x, 32, true, "a"), 32, false, "b");
    graph.mark_output(y);
    loss = ops::reduce_mean(ops::square(y));
    graph.mark_output(loss);
  }
};

/// Outputs, and gradients by parameter name, of one training step.
struct StepResult {
  std::vector<Tensor> outputs;
  std::map<std::string, Tensor> gradients;
};

StepResult train_once(const Graph& graph, const Tensor& x) {
  auto copy = graph.clone();
  auto variables = std::make_shared<Variables>(*copy);
  CompileOptions options;
  options.training = true;
  Session session(Program::compile(std::move(copy), variables, options));
  StepResult result;
  result.outputs = session.run(std::vector<Tensor>{x}, [&](const GradientView& view) {
    Tensor plain(variables->type(view.variable));
    reorder(variables->layout(view.variable), view.dense, Layout(plain.type()), plain.raw());
    result.gradients[variables->name(view.variable)] = plain;
  });
  return result;
}

TEST(FuseForTraining, KeepsValuesAndGradients) {
  const Tensor x = random_tensor(DType::kF32, {2, 16, 6, 6}, 1);
  ResidualNet plain;
  add_gradients(plain.graph, plain.loss);
  const StepResult expected = train_once(plain.graph, x);

  ResidualNet fused;
  prepare_for_training(fused.graph, fused.loss);
  fused.graph.verify();
  EXPECT_EQ(count(fused.graph, "relu"), 0U);
  // One sum of gradients is left: that of the input of block a's two convolutions, which is nobody's batch norm.
  EXPECT_EQ(count(fused.graph, "unary_grad"), 1U) << fused.graph.to_string();
  const StepResult actual = train_once(fused.graph, x);

  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    expect_close(actual.outputs[i], expected.outputs[i], 1e-5, "output " + std::to_string(i));
  }
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    expect_close(actual.gradients.at(name), gradient, 1e-4, "gradient of " + name);
  }
}

TEST(FuseForInference, FoldsBatchNormsIntoConvolutions) {
  const std::vector<Tensor> x = {random_tensor(DType::kF32, {2, 16, 6, 6}, 1)};
  ResidualNet plain;
  to_inference(plain.graph);
  EXPECT_EQ(count(plain.graph, "batch_norm"), 0U);
  EXPECT_EQ(count(plain.graph, "batch_norm_inference"), 5U);
  const Tensor expected = testing::run_graph(plain.graph, x)[0];

  ResidualNet fused;
  prepare_for_inference(fused.graph);
  fused.graph.verify();
  EXPECT_EQ(count(fused.graph, "batch_norm_inference"), 0U);
  EXPECT_EQ(count(fused.graph, "relu"), 0U);
  size_t residuals = 0;
  for (const auto& node : fused.graph.nodes()) residuals += node->op_name() == "conv" && node->input(3) ? 1 : 0;
  EXPECT_EQ(residuals, 2U) << fused.graph.to_string();
  const auto folded = testing::run_graph(fused.graph, x)[0];
  expect_close(folded, expected, 1e-5, "output");
}

TEST(FuseForInference, MovesBoundsIntoConvolutions) {
  // A 1x1, a depthwise and a dense convolution, each followed by ReLU6, as in MobileNet; the last also by a sum.
  const auto build = [](Graph& graph) {
    Value* x = graph.input("x", {DType::kF32, {2, 16, 9, 9}});
    const auto conv = [&](Value* from, const Shape& shape, int64_t groups, uint64_t seed) {
      Value* w = graph.parameter("w" + std::to_string(seed), random_tensor(DType::kF32, shape, seed, -2, 2));
      const int64_t pad = shape[2] / 2;
      return ops::conv(from, w, nullptr,
                       {.strides = {}, .pads = {pad, pad}, .dilations = {}, .groups = groups, .activation = {}});
    };
    Value* wide = ops::clip(conv(x, {32, 16, 1, 1}, 1, 1), 0, 6);
    Value* each = ops::clip(conv(wide, {32, 1, 3, 3}, 32, 2), 0, 6);
    graph.mark_output(ops::clip(ops::add(conv(each, {16, 32, 3, 3}, 1, 3), x), 0, 6));
  };
  const std::vector<Tensor> x = {random_tensor(DType::kF32, {2, 16, 9, 9}, 1, -4, 4)};
  Graph plain("plain"), fused("fused");
  build(plain);
  build(fused);
  const Tensor expected = testing::run_graph(plain, x)[0];
  prepare_for_inference(fused);
  fused.verify();
  EXPECT_EQ(count(fused, "clip") + count(fused, "add"), 0U) << fused.to_string();
  expect_close(testing::run_graph(fused, x)[0], expected, 1e-5, "output");
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  expect_close(testing::run_graph(fused, x, reference)[0], expected, 1e-5, "reference");
}

/// Runs a graph before and after the form for inference, which must leave as many nodes as said.
void check_inference(const std::function<Value*(Graph&)>& build, size_t nodes) {
  Graph plain, fused;
  plain.mark_output(build(plain));
  fused.mark_output(build(fused));
  std::vector<Tensor> inputs;
  for (const Value* input : plain.inputs()) inputs.push_back(random_tensor(DType::kF32, input->shape(), inputs.size()));
  prepare_for_inference(fused);
  fused.verify();
  // What depends on weights alone is computed once.
  std::set<const Value*> changing(fused.inputs().begin(), fused.inputs().end());
  size_t left = 0;
  for (const auto& node : fused.nodes()) {
    if (std::none_of(node->inputs().begin(), node->inputs().end(), [&](const Value* v) { return changing.count(v); }))
      continue;
    changing.insert(node->outputs().begin(), node->outputs().end());
    ++left;
  }
  EXPECT_EQ(left, nodes) << fused.to_string();
  expect_close(testing::run_graph(fused, inputs)[0], testing::run_graph(plain, inputs)[0], 2e-5, "output");
}

TEST(FuseForInference, TakesActivationsSlopesAndNumbersIntoProducts) {
  const auto parameter = [](Graph& graph, const std::string& name, const Shape& shape) {
    return graph.parameter(name, random_tensor(DType::kF32, shape, name.size(), -0.5, 0.5));
  };
  const auto conv = [&](Graph& graph) {
    return ops::conv(graph.input("x", {DType::kF32, {2, 16, 6, 6}}), parameter(graph, "w", {24, 16, 3, 3}));
  };
  check_inference([&](Graph& graph) { return ops::silu(conv(graph)); }, 1);
  check_inference([&](Graph& graph) { return ops::leaky_relu(conv(graph), 0.2); }, 1);
  check_inference([&](Graph& graph) { return ops::add(ops::mul(ops::hard_swish(conv(graph)), 1.5), 0.25); }, 1);
  check_inference([&](Graph& graph) { return ops::sub(ops::div(ops::sigmoid(conv(graph)), 4.0), 1.0); }, 1);
  check_inference([&](Graph& graph) { return ops::prelu(conv(graph), parameter(graph, "slope", {24})); }, 1);
  check_inference([&](Graph& graph) { return ops::prelu(conv(graph), parameter(graph, "one", {1})); }, 1);
  // What a ReLU follows has to stay in this order.
  check_inference([&](Graph& graph) { return ops::relu(ops::add(ops::tanh(conv(graph)), 0.5)); }, 2);
  check_inference([&](Graph& graph) { return ops::relu(ops::prelu(conv(graph), parameter(graph, "s", {24}))); }, 2);
  // Numbers before the activation go into weights and bias.
  check_inference([&](Graph& graph) { return ops::hard_swish(ops::add(ops::mul(conv(graph), 1.5), 0.25)); }, 1);
}

TEST(FuseForInference, SaysProductsWithWeightsAsLinear) {
  const auto build = [](Graph& graph) {
    Value* x = graph.input("x", {DType::kF32, {2, 5, 12}});
    Value* w = graph.parameter("w", random_tensor(DType::kF32, {12, 7}, 1));
    Value* b = graph.parameter("b", random_tensor(DType::kF32, {7}, 2));
    return ops::gelu(ops::mul(ops::add(ops::matmul(x, w), b), 0.5));
  };
  check_inference(build, 1);
  Graph graph;
  graph.mark_output(build(graph));
  prepare_for_inference(graph);
  EXPECT_EQ(count(graph, "linear"), 1U) << graph.to_string();
}

TEST(FuseForInference, FoldsBatchNormsIntoTransposedConvolutions) {
  const auto build = [](Graph& graph) {
    Value* x = graph.input("x", {DType::kF32, {2, 5, 6, 7}});
    const auto channels = [&](const char* name, double low) {
      return graph.parameter(name, random_tensor(DType::kF32, {3}, static_cast<uint64_t>(name[0]), low, 1.5));
    };
    ops::ConvTransposeOptions options;
    options.strides = {2, 2};
    Value* w = graph.parameter("w", random_tensor(DType::kF32, {5, 3, 2, 2}, 1));
    Value* y = ops::conv_transpose(x, w, channels("bias", -1.0), options);
    y = ops::batch_norm_inference(y, channels("scale", 0.5), channels("shift", -1.0), channels("mean", -1.0),
                                  channels("variance", 0.5));
    return ops::add(ops::mul(ops::sigmoid(y), 2.0), 0.5);
  };
  check_inference(build, 1);
}

/// Of two f32 tensors, in the Euclidean norm: single small elements carry bf16's rounding in full.
double relative_distance(const Tensor& a, const Tensor& b) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < b.num_elements(); ++i) {
    const double d = a.data<float>()[i] - b.data<float>()[i];
    difference += d * d;
    norm += static_cast<double>(b.data<float>()[i]) * b.data<float>()[i];
  }
  return std::sqrt(difference / norm);
}

TEST(UseBF16, ComputesConvolutionsInBF16AndKeepsTheInterface) {
  const Tensor x = random_tensor(DType::kF32, {2, 16, 6, 6}, 1);
  ResidualNet full;
  prepare_for_training(full.graph, full.loss);
  const StepResult expected = train_once(full.graph, x);

  ResidualNet narrow;
  prepare_for_training(narrow.graph, narrow.loss, Precision::kBF16);
  narrow.graph.verify();
  for (const auto& node : narrow.graph.nodes()) {
    if (node->op_name() != "conv") continue;
    EXPECT_EQ(node->input(0)->dtype(), DType::kBF16);
    EXPECT_EQ(node->output()->dtype(), DType::kBF16);
  }
  const StepResult actual = train_once(narrow.graph, x);
  expect_close(actual.outputs[0], expected.outputs[0], 0.03, "output");
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_EQ(actual.gradients.at(name).dtype(), DType::kF32);
    EXPECT_LT(relative_distance(actual.gradients.at(name), gradient), 0.1) << "gradient of " << name;
  }
}

}  // namespace
}  // namespace thalweg
