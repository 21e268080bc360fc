// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/gradient_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/ops.h"
#include "train/small_models.h"

namespace thalweg::testing {
namespace {

/// Two outputs of a convolution and a product, with all weights as inputs.
std::unique_ptr<Graph> two_outputs(double dropout = 0) {
  auto graph = std::make_unique<Graph>("function");
  Value* x = graph->input("x", {DType::kF32, {kFree, 3, 6, 6}});
  Value* kernel = graph->input("kernel", {DType::kF32, {20, 3, 3, 3}});
  Value* weight = graph->input("weight", {DType::kF32, {4, 20}});
  Value* unused = graph->input("unused", {DType::kF32, {2}});
  Value* h = ops::relu(ops::conv(x, kernel, nullptr, {}));
  if (dropout > 0) h = ops::dropout(h, dropout, 3);
  Value* mean = ops::reduce_mean(h, {2, 3});
  graph->mark_output(ops::tanh(ops::linear(mean, weight)), "scores");
  graph->mark_output(mean, "mean");
  graph->mark_output(ops::greater(mean, ops::scalar_like(mean, 0.1)), "large");
  graph->mark_output(ops::add(unused, 1.0), "other");
  return graph;
}

std::vector<Tensor> inputs_for(int64_t batch) {
  return {random_tensor(DType::kF32, {batch, 3, 6, 6}, 1), random_tensor(DType::kF32, {20, 3, 3, 3}, 2, -0.5, 0.5),
          random_tensor(DType::kF32, {4, 20}, 3), random_tensor(DType::kF32, {2}, 4)};
}

std::vector<Tensor> seeds_for(int64_t batch) {
  return {random_tensor(DType::kF32, {batch, 4}, 5), random_tensor(DType::kF32, {batch, 20}, 6),
          random_tensor(DType::kF32, {2}, 7)};
}

double weighted_sum(const std::vector<Tensor>& outputs, const std::vector<Tensor>& seeds) {
  double sum = 0;
  size_t s = 0;
  for (const Tensor& output : outputs) {
    if (output.dtype() != DType::kF32) continue;
    const Tensor& seed = seeds[s++];
    for (int64_t i = 0; i < output.num_elements(); ++i) sum += output.data<float>()[i] * seed.data<float>()[i];
  }
  return sum;
}

TEST(GradientFunction, GivesOutputsThenGradients) {
  GradientFunction function(two_outputs(), {"x", "kernel", "weight"});
  for (const int64_t batch : {2, 1, 2}) {
    const std::vector<Tensor> inputs = inputs_for(batch), seeds = seeds_for(batch);
    const auto run = function.run(inputs, 0);
    const std::vector<Tensor> outputs = run->take_outputs();
    ASSERT_EQ(outputs.size(), 4U);
    EXPECT_EQ(outputs[0].shape(), (Shape{batch, 4}));
    const std::vector<Tensor> gradients = run->gradients(seeds);
    ASSERT_EQ(gradients.size(), 3U);
    for (size_t i = 0; i < gradients.size(); ++i) {
      ASSERT_EQ(gradients[i].shape(), inputs[i].shape());
      // Along the gradient itself the outputs change by its square.
      double square = 0;
      for (int64_t k = 0; k < gradients[i].num_elements(); ++k) square += std::pow(gradients[i].data<float>()[k], 2);
      constexpr float kStep = 1e-3F;
      double sums[2];
      for (const int side : {0, 1}) {
        std::vector<Tensor> moved = inputs;
        moved[i] = inputs[i].clone();
        for (int64_t k = 0; k < moved[i].num_elements(); ++k) {
          moved[i].data<float>()[k] += (side == 1 ? kStep : -kStep) * gradients[i].data<float>()[k];
        }
        sums[side] = weighted_sum(function.run(moved, 0)->take_outputs(), seeds);
      }
      EXPECT_NEAR((sums[1] - sums[0]) / (2 * kStep) / square, 1.0, 0.01) << "input " << i;
    }
  }
}

TEST(GradientFunction, SeveralRunsWaitForTheirGradients) {
  GradientFunction function(two_outputs(), {"kernel"});
  const std::vector<Tensor> first = inputs_for(2), seeds = seeds_for(2);
  std::vector<Tensor> second = first;
  second[0] = random_tensor(DType::kF32, {2, 3, 6, 6}, 9);
  const auto alone = floats(function.run(first, 0)->gradients(seeds)[0]);
  const auto run = function.run(first, 0);
  const auto other = function.run(second, 0);
  const auto of_other = floats(other->gradients(seeds)[0]);
  EXPECT_EQ(floats(run->gradients(seeds)[0]), alone);
  EXPECT_NE(of_other, alone);
}

TEST(GradientFunction, DrawsTheSameInBothHalves) {
  GradientFunction function(two_outputs(0.5), {"kernel"});
  const std::vector<Tensor> inputs = inputs_for(2), seeds = seeds_for(2);
  const auto run = function.run(inputs, 7), again = function.run(inputs, 7), other = function.run(inputs, 8);
  const auto outputs = floats(run->take_outputs()[1]);
  EXPECT_EQ(outputs, floats(again->take_outputs()[1]));
  EXPECT_NE(outputs, floats(other->take_outputs()[1]));
  const auto gradient = floats(run->gradients(seeds)[0]);
  EXPECT_EQ(gradient, floats(again->gradients(seeds)[0]));
  EXPECT_NE(gradient, floats(other->gradients(seeds)[0]));
}

TEST(GradientFunction, GradientsOfTablesAndOfInputsWithoutInfluence) {
  auto graph = std::make_unique<Graph>("table");
  Value* table = graph->input("table", {DType::kF32, {5, 2}});
  graph->input("unread", {DType::kF32, {3}});
  Value* indices = graph->input("indices", {DType::kI64, {kFree}});
  graph->mark_output(ops::embedding(table, indices), "rows");
  GradientFunction function(std::move(graph), {"table", "unread"});
  const Tensor places = Tensor::from<int64_t>({3}, {1, 4, 1});
  const auto run = function.run({random_tensor(DType::kF32, {5, 2}, 1), random_tensor(DType::kF32, {3}, 2), places}, 0);
  const std::vector<Tensor> gradients = run->gradients({Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(floats(gradients[0]), ::testing::ElementsAre(0, 0, 6, 8, 0, 0, 0, 0, 3, 4));
  EXPECT_FALSE(gradients[1].defined());
}

TEST(GradientFunction, MistakesAreTold) {
  const auto error_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  GradientFunction function(two_outputs(), {"kernel"});
  const auto run = function.run(inputs_for(2), 0);
  EXPECT_THAT(error_of([&] { run->gradients({}); }), ::testing::HasSubstr("takes 3 inputs"));
  EXPECT_THAT(error_of([&] { run->gradients(seeds_for(2)); }), ::testing::HasSubstr("a second time"));
  EXPECT_THAT(error_of([] { GradientFunction(two_outputs(), {"weights"}); }), ::testing::HasSubstr("'weights'"));
  auto with_weights = std::make_unique<Graph>("own");
  with_weights->mark_output(with_weights->parameter("w", random_tensor(DType::kF32, {2}, 1)), "y");
  EXPECT_THAT(error_of([&] { GradientFunction(std::move(with_weights), {}); }),
              ::testing::HasSubstr("weights of its own"));
}

}  // namespace
}  // namespace thalweg::testing
