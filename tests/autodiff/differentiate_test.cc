// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::check_gradients;

TEST(Differentiate, SumsContributionsOfAllPaths) {
  check_gradients({{{3, 4}}}, [](const std::vector<Value*>& v) {
    Value* a = ops::sigmoid(v[0]);
    Value* b = ops::mul(a, v[0]);
    return std::vector<Value*>{ops::add(ops::tanh(b), ops::mul(a, b))};
  });
}

TEST(Differentiate, FrozenPartsCostNothing) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4}});
  Value* frozen = graph.parameter("frozen", Tensor::zeros(DType::kF32, {4}), false);
  Value* trained = graph.parameter("trained", Tensor::zeros(DType::kF32, {4}));
  Value* below = ops::exp(ops::mul(x, frozen));
  Value* loss = ops::reduce_sum(ops::mul(below, trained));
  const size_t before = graph.nodes().size();
  add_gradients(graph, loss);
  ASSERT_EQ(graph.gradients().size(), 1U);
  EXPECT_EQ(graph.gradients()[0].parameter, trained);
  for (size_t i = before; i < graph.nodes().size(); ++i) {
    EXPECT_NE(graph.nodes()[i]->op_name(), "unary_grad") << "work for a frozen branch";
  }
}

TEST(Differentiate, TargetsThatDoNotMatterHaveNoGradient) {
  Graph graph;
  Value* a = graph.parameter("a", Tensor::zeros(DType::kF32, {2}));
  Value* b = graph.parameter("b", Tensor::zeros(DType::kF32, {2}));
  Value* loss = ops::reduce_sum(ops::square(a));
  const auto gradients = differentiate(graph, loss, {a, b});
  EXPECT_NE(gradients[0].dense, nullptr);
  EXPECT_EQ(gradients[1].dense, nullptr);
}

TEST(Differentiate, NothingPassesAStoppedGradient) {
  Graph graph;
  Value* below = graph.parameter("below", Tensor::zeros(DType::kF32, {2}));
  Value* both = graph.parameter("both", Tensor::zeros(DType::kF32, {2}));
  Value* stopped = ops::stop_gradient(ops::mul(below, both));
  EXPECT_EQ(stopped->type(), below->type());
  const auto gradients = differentiate(graph, ops::reduce_sum(ops::mul(stopped, both)), {below, both});
  EXPECT_EQ(gradients[0].dense, nullptr);
  ASSERT_NE(gradients[1].dense, nullptr);
  EXPECT_EQ(graph.nodes().back()->op_name(), "mul") << "of the product that was stopped nothing is computed backward";
}

TEST(Differentiate, LossMustBeOneElement) {
  Graph graph;
  Value* a = graph.parameter("a", Tensor::zeros(DType::kF32, {2}));
  EXPECT_THROW(add_gradients(graph, ops::square(a)), Error);
}

TEST(Differentiate, OpsWithoutAGradientAreNamed) {
  Graph graph;
  Value* a = graph.parameter("a", Tensor::zeros(DType::kF32, {2}));
  Value* saved = ops::relu(a);
  Value* twice = graph.add("unary_grad", {a, saved}, {{"function", std::string("relu")}}, "second")->output();
  try {
    add_gradients(graph, ops::reduce_sum(twice));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unary_grad 'second'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace thalweg
