// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/factor_gradients.h"

#include <gmock/gmock.h>

#include "thalweg/losses.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Value* weights(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.parameter(name, Tensor::zeros(DType::kF32, shape));
}

/// The loss is the last output.
void differentiate_mean(Graph& graph, Value* result) {
  Value* loss = ops::reduce_mean(ops::mul(result, result));
  graph.mark_output(loss);
  prepare_for_training(graph, loss, Precision::kF32);
}

TEST(FactorGradients, OfFullyConnectedLayersErrorsAndActivationsComeOut) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4, 3}});
  Value* h = ops::relu(ops::linear(x, weights(graph, "a", {5, 3}), weights(graph, "a_bias", {5})));
  differentiate_mean(graph, ops::linear(h, weights(graph, "b", {2, 5})));
  const std::vector<std::string> names = factor_gradients(graph);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a", "b"));
  graph.verify();
  ASSERT_EQ(graph.outputs().size(), 5U);
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_a = names[i] == "a";
    EXPECT_EQ(graph.outputs()[1 + 2 * i]->shape(), (is_a ? Shape{4, 5} : Shape{4, 2}));
    EXPECT_EQ(graph.outputs()[2 + 2 * i]->shape(), (is_a ? Shape{4, 3} : Shape{4, 5}));
  }
  ASSERT_EQ(graph.gradients().size(), 1U);
  EXPECT_EQ(graph.gradients()[0].parameter->name(), "a_bias");
  EXPECT_EQ(graph.gradients()[0].dense->shape(), Shape{5});
  EXPECT_THAT(graph.to_string(), Not(HasSubstr("linear_grad_weights")));
}

TEST(FactorGradients, WhatIsASumOfProductsStays) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4, 3}});
  Value* shared = weights(graph, "shared", {3, 3});
  differentiate_mean(graph, ops::linear(ops::relu(ops::linear(x, shared)), shared));
  EXPECT_TRUE(factor_gradients(graph).empty());
  EXPECT_EQ(graph.gradients().size(), 1U);
  EXPECT_EQ(graph.outputs().size(), 1U);
}

TEST(FactorGradients, OfConvolutionsTheyStay) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 6, 6}});
  Value* maps = ops::relu(ops::conv(x, weights(graph, "filters", {4, 3, 3, 3})));
  differentiate_mean(graph, ops::linear(ops::reshape(maps, {2, 64}), weights(graph, "last", {2, 64})));
  EXPECT_THAT(factor_gradients(graph), ElementsAre("last"));
  ASSERT_EQ(graph.gradients().size(), 1U);
  EXPECT_EQ(graph.gradients()[0].parameter->name(), "filters");
}

}  // namespace
}  // namespace thalweg::testing
