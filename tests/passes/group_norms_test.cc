// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/group_norms.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

using Ending = std::function<Value*(Value* y)>;

/// An instance norm over groups, as exporters write a group norm, and what `ending` makes of it, before and after the
/// pass, which must leave as many nodes that depend on x as said.
void check(const Shape& shape, int64_t groups, const Ending& ending, size_t expected_nodes) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, shape});
  const auto vector = [&](uint64_t seed) {
    return graph.constant(random_tensor(DType::kF32, {groups}, seed, 0.5, 1.5));
  };
  Value* parted = ops::reshape(x, {shape[0], groups, -1});
  Value* norm = ops::group_norm(parted, vector(1), vector(2), groups, 1e-3);
  graph.mark_output(ending(ops::reshape(norm, shape.dims())));
  const std::vector<Tensor> given{random_tensor(DType::kF32, shape, 3)};
  const Tensor expected = run_graph(graph, given)[0];
  say_group_norms(graph);
  graph.verify();
  size_t nodes = 0;
  for (const auto& node : graph.nodes())
    nodes += node->output()->shape().num_elements() == shape.num_elements() ? 1 : 0;
  EXPECT_EQ(nodes, expected_nodes) << graph.to_string();
  expect_close(run_graph(graph, given)[0], expected, 2e-5, graph.to_string());
}

Value* of_shape(Value* y, const Shape& shape) {
  return y->graph().constant(random_tensor(DType::kF32, shape, 7, 0.5, 1.5));
}

TEST(GroupNorms, TakeTheirScaleAndShift) {
  for (const Shape& channels : {Shape{6, 1, 1}, Shape{1, 6, 1, 1}}) {
    const auto affine = [&](Value* y) { return ops::add(ops::mul(y, of_shape(y, channels)), of_shape(y, channels)); };
    check({2, 6, 4, 5}, 3, affine, 1);
    check({2, 6, 4, 5}, 6, affine, 1);
    check({2, 6, 4, 5}, 1, affine, 1);
  }
  check(
      {1, 4, 7}, 2,
      [](Value* y) {
        return ops::mul(of_shape(y, {4, 1}), y);
      },
      1);
  check(
      {2, 4, 7}, 2, [](Value* y) { return y; }, 1);
  // Neither by channel nor by itself.
  check(
      {2, 6, 4, 5}, 3,
      [](Value* y) {
        return ops::mul(y, of_shape(y, {4, 1}));
      },
      2);
  check(
      {2, 6, 4, 5}, 3, [](Value* y) { return ops::mul(y, y); }, 2);
}

TEST(GroupNorms, OtherReshapesStay) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 6, 4}});
  Value* scale = graph.constant(random_tensor(DType::kF32, {3}, 1));
  Value* norm = ops::group_norm(ops::reshape(x, {2, 3, 8}), scale, scale, 3);
  graph.mark_output(ops::reshape(norm, {2, 4, 6}));
  const size_t before = graph.nodes().size();
  say_group_norms(graph);
  EXPECT_EQ(graph.nodes().size(), before);
}

}  // namespace
}  // namespace thalweg
