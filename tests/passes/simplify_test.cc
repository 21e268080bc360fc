// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

size_t count(const Graph& graph, const std::string& op) {
  size_t found = 0;
  for (const auto& node : graph.nodes()) found += node->op_name() == op ? 1 : 0;
  return found;
}

TEST(Simplify, MergesEqualNodesButNotRandomOnes) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4}});
  Value* same = ops::add(ops::exp(ops::mul(x, 2.0)), ops::exp(ops::mul(x, 2.0)));
  graph.mark_output(same);
  simplify(graph);
  EXPECT_EQ(count(graph, "exp"), 1U);
  EXPECT_EQ(count(graph, "mul"), 1U);
  graph.verify();
}

TEST(Simplify, KeepsNodesThatDifferInAnAttribute) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4}});
  graph.mark_output(ops::add(ops::leaky_relu(x, 0.1), ops::leaky_relu(x, 0.10000001)));
  simplify(graph);
  EXPECT_EQ(count(graph, "leaky_relu"), 2U);
}

TEST(Simplify, TakesOnlyConstantsOfEqualContentForEqual) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4}});
  for (const double number : {0.0, std::nan(""), -0.0, 1.0, 0.0, std::nan("")}) {
    graph.mark_output(ops::maximum(x, ops::scalar_like(x, number)));
  }
  simplify(graph);
  const auto& outputs = graph.outputs();
  for (size_t i = 0; i < 4; ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_NE(outputs[i], outputs[k]) << i << ' ' << k;
  }
  EXPECT_EQ(outputs[4], outputs[0]);
  EXPECT_EQ(outputs[5], outputs[1]);
}

TEST(Simplify, RemovesWhatChangesNothing) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 4}});
  Value* y = ops::reshape(ops::mul(ops::add(x, 0.0), 1.0), {2, 4});
  graph.mark_output(ops::relu(y));
  simplify(graph);
  EXPECT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(graph.nodes()[0]->input(0), x);
}

TEST(InferenceForm, LeavesOutWhatOnlyTrainingNeeds) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 4}});
  Value* y = ops::stop_gradient(ops::gaussian_noise(ops::dropout(x, 0.5, 1), 0.1, 2));
  graph.mark_output(ops::relu(y));
  simplify(graph);
  EXPECT_EQ(count(graph, "stop_gradient"), 1U) << "simplifying runs before gradients are found";
  to_inference(graph);
  ASSERT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(graph.nodes()[0]->input(0), x);
}

}  // namespace
}  // namespace thalweg
