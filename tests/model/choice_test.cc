// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// If: the graph that it chooses becomes part of the program.
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_check.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;

std::shared_ptr<Graph> branch(Value* (*build)(Value*)) {
  auto graph = std::make_shared<Graph>("branch");
  graph->mark_output(build(graph->input("captured", {DType::kF32, {kFree, 6}})));
  return graph;
}

/// x * 3 if the condition holds, else tanh(x) + 1.
Node* add_choice(Graph& graph, Value* condition, Value* x) {
  const Attributes attrs{{"then_branch", branch([](Value* v) { return ops::mul(v, 3.0); })},
                         {"else_branch", branch([](Value* v) { return ops::add(ops::tanh(v), 1.0); })},
                         {"then_branch.captures", std::vector<int64_t>{1}},
                         {"else_branch.captures", std::vector<int64_t>{1}},
                         {"captures", int64_t{1}}};
  return graph.add_untyped("onnx.If", {condition, x}, attrs, 1, "choice");
}

Tensor expected_of(const Tensor& x, bool condition) {
  Tensor result = x.clone();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const float value = x.data<float>()[i];
    result.data<float>()[i] = condition ? value * 3.0F : std::tanh(value) + 1.0F;
  }
  return result;
}

size_t host_steps(const Model& model, const std::vector<Tensor>& inputs) {
  size_t found = 0;
  for (const ProgramProfile& part : model.profile(inputs)) {
    for (const StepProfile& step : part.steps) found += step.kernel == "executed by itself" ? 1 : 0;
  }
  return found;
}

TEST(Choice, BecomesPartOfTheProgramForEachAnswer) {
  auto graph = std::make_unique<Graph>("choice");
  Value* condition = graph->input("condition", {DType::kBool, {}});
  Value* x = graph->input("x", {DType::kF32, {kFree, 6}});
  graph->mark_output(add_choice(*graph, condition, x)->output(), "y");
  const Model model(std::move(graph));
  for (const int64_t rows : {1, 3}) {
    const Tensor input = random_tensor(DType::kF32, {rows, 6}, 1);
    for (const bool condition_holds : {true, false, true}) {
      const std::vector<Tensor> inputs{Tensor::scalar<bool>(condition_holds), input};
      expect_close(model.predict(inputs)[0], expected_of(input, condition_holds), 1e-6, "choice");
      EXPECT_EQ(host_steps(model, inputs), 0U);
    }
  }
}

TEST(Choice, MayDependOnWhatTheModelComputes) {
  auto graph = std::make_unique<Graph>("choice");
  Value* x = graph->input("x", {DType::kF32, {2, 6}});
  Value* sum = ops::reduce_sum(x);
  Value* condition = ops::greater(sum, ops::scalar_like(sum, 0.0));
  Value* chosen = add_choice(*graph, condition, ops::mul(x, 0.5))->output();
  graph->mark_output(chosen, "y");
  const Model model(std::move(graph));
  for (const float value : {0.25F, -0.25F, 0.5F}) {
    const Tensor input = Tensor::full<float>({2, 6}, value);
    const Tensor half = Tensor::full<float>({2, 6}, value * 0.5F);
    expect_close(model.predict({input})[0], expected_of(half, value > 0), 1e-6, "choice");
    EXPECT_EQ(host_steps(model, {input}), 0U);
  }
}

TEST(Choice, ChoosesWithinAChoice) {
  auto inner = std::make_shared<Graph>("inner");
  Value* given = inner->input("captured", {DType::kF32, {kFree, 6}});
  Value* sum = ops::reduce_max(given);
  inner->mark_output(add_choice(*inner, ops::less(sum, ops::scalar_like(sum, 0.0)), given)->output());
  auto graph = std::make_unique<Graph>("outer");
  Value* condition = graph->input("condition", {DType::kBool, {}});
  Value* x = graph->input("x", {DType::kF32, {kFree, 6}});
  Attributes attrs{{"then_branch", inner},
                   {"else_branch", branch([](Value* v) { return v; })},
                   {"then_branch.captures", std::vector<int64_t>{1}},
                   {"else_branch.captures", std::vector<int64_t>{1}},
                   {"captures", int64_t{1}}};
  graph->mark_output(graph->add_untyped("onnx.If", {condition, x}, attrs, 1, "outer")->output(), "y");
  const Model model(std::move(graph));
  const Tensor positive = Tensor::full<float>({2, 6}, 0.5F), negative = Tensor::full<float>({2, 6}, -0.5F);
  for (const Tensor& input : {positive, negative}) {
    const bool below = input.data<float>()[0] < 0;
    expect_close(model.predict({Tensor::scalar<bool>(true), input})[0], expected_of(input, below), 1e-6, "inner");
    expect_close(model.predict({Tensor::scalar<bool>(false), input})[0], input, 1e-6, "passed on");
  }
}

}  // namespace
}  // namespace thalweg
