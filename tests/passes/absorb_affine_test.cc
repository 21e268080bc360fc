// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

using Build = std::function<Value*(Graph&, Value* product)>;

Value* fixed(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.parameter(name, random_tensor(DType::kF32, shape, 7 + name.size(), 0.5, 1.5));
}

/// Runs a product and what follows it, before and after the pass; gives the number of nodes that compute with the
/// input.
size_t nodes_left(const std::string& product, bool with_bias, const Build& build) {
  Graph graph;
  const Shape shape = product == "conv" ? Shape{2, 3, 5, 5} : Shape{2, 4, 6};
  Value* x = graph.input("x", {DType::kF32, shape});
  Value* bias = with_bias ? fixed(graph, "bias", {8}) : nullptr;
  Value* y = product == "conv" ? ops::conv(x, fixed(graph, "weight", {8, 3, 3, 3}), bias)
                               : ops::linear(x, fixed(graph, "weight", {8, 6}), bias);
  graph.mark_output(build(graph, y));
  const Tensor input = random_tensor(DType::kF32, shape, 1);
  const Tensor expected = run_graph(graph, {input})[0];
  absorb_affine(graph);
  expect_close(run_graph(graph, {input})[0], expected, 1e-5, product);
  size_t left = 0;
  std::set<const Value*> moving{x};
  for (const auto& node : graph.nodes()) {
    for (const Value* operand : node->inputs()) {
      if (operand == nullptr || moving.count(operand) == 0) continue;
      ++left;
      moving.insert(node->output());
      break;
    }
  }
  return left;
}

TEST(AbsorbAffine, TakesBiasAndScaleOfChannels) {
  for (const std::string product : {"conv", "linear"}) {
    const Shape channels = product == "conv" ? Shape{1, 8, 1, 1} : Shape{8};
    const std::vector<Build> builds = {
        [&](Graph& g, Value* y) { return ops::add(y, fixed(g, "v", channels)); },
        [&](Graph& g, Value* y) { return ops::add(fixed(g, "v", channels), y); },
        [&](Graph& g, Value* y) { return ops::sub(y, fixed(g, "v", channels)); },
        [&](Graph& g, Value* y) { return ops::mul(y, fixed(g, "v", channels)); },
        [&](Graph& g, Value* y) { return ops::div(y, fixed(g, "v", channels)); },
        [&](Graph& g, Value* y) { return ops::add(ops::mul(y, fixed(g, "v", channels)), fixed(g, "vv", channels)); },
        [&](Graph& g, Value* y) { return ops::mul(ops::sub(y, fixed(g, "v", channels)), fixed(g, "vv", channels)); },
    };
    for (size_t i = 0; i < builds.size(); ++i) {
      SCOPED_TRACE(product + " " + std::to_string(i));
      for (const bool with_bias : {false, true}) EXPECT_EQ(nodes_left(product, with_bias, builds[i]), 1U);
    }
  }
}

TEST(AbsorbAffine, LeavesWhatIsNoSuchTerm) {
  const std::vector<Build> builds = {
      [](Graph& g, Value* y) {
        return ops::add(y, fixed(g, "v", {2, 8, 3, 3}));
      },
      [](Graph& g, Value* y) {
        return ops::add(y, fixed(g, "v", {1, 8, 1, 3}));
      },
      [](Graph& g, Value* y) {
        return ops::mul(y, fixed(g, "v", {2, 8, 1, 1}));
      },
      [](Graph& g, Value* y) {
        return ops::sub(fixed(g, "v", {8, 1, 1}), y);
      },
      [](Graph& g, Value* y) {
        return ops::div(fixed(g, "v", {8, 1, 1}), y);
      },
      [](Graph& g, Value* y) { return ops::mul(y, ops::reduce_mean(g.inputs()[0])); },
      [](Graph&, Value* y) { return ops::mul(y, y); },
  };
  for (size_t i = 0; i < builds.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_GE(nodes_left("conv", true, builds[i]), 2U);
  }
}

TEST(AbsorbAffine, KeepsAProductThatOthersRead) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1, 2, 4, 4}});
  Value* y = ops::conv(x, fixed(graph, "weight", {2, 2, 1, 1}));
  graph.mark_output(y);
  graph.mark_output(ops::add(y, fixed(graph, "v", {2, 1, 1})));
  const Tensor input = random_tensor(DType::kF32, {1, 2, 4, 4}, 1);
  const std::vector<Tensor> expected = run_graph(graph, {input});
  absorb_affine(graph);
  const std::vector<Tensor> actual = run_graph(graph, {input});
  for (size_t i = 0; i < 2; ++i) expect_close(actual[i], expected[i], 1e-6, "output " + std::to_string(i));
}

}  // namespace
}  // namespace thalweg
