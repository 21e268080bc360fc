// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/ids_rare.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<Value*>;

/// Matrices whose diagonal is larger than the rest, so that none is nearly singular.
Value* sturdy(Value* x) {
  const int64_t n = x->shape()[-1];
  Tensor diagonal = Tensor::zeros(DType::kF64, {n, n});
  for (int64_t i = 0; i < n; ++i) diagonal.data<double>()[i * n + i] = static_cast<double>(n);
  return ops::add(x, x->graph().constant(diagonal.to(x->dtype())));
}

BuildOp of_op(OpId op) {
  return [op](const Values& v) {
    Values inputs = v;
    inputs[0] = sturdy(v[0]);
    return inputs[0]->graph().add(op, inputs)->outputs();
  };
}

TEST(Solve, GradientsMatchCentralDifferences) {
  check_gradients({{{2, 3, 3}}, {{2, 3, 2}}}, of_op(op::kSolve));
  check_gradients({{{3, 3}}, {{2, 3, 1}}}, of_op(op::kSolve));
  check_gradients({{{2, 1, 4, 4}}, {{3, 4, 2}}}, of_op(op::kSolve));
}

TEST(Solve, FastPathMatchesReference) {
  for (const int64_t n : {1, 2, 7}) check_fast_path({{{2, n, n}}, {{2, n, 3}}}, of_op(op::kSolve), "", 2e-5);
  check_fast_path({{{0, 2, 2}}, {{0, 2, 1}}}, of_op(op::kSolve), "", 2e-5, false);
}

TEST(Solve, ExchangesRowsWhereAPivotIsZero) {
  Graph graph;
  Value* a = graph.constant(Tensor::from<float>({2, 2}, {0, 2, 1, 0}));
  graph.mark_output(graph.add(op::kSolve, {a, graph.constant(Tensor::from<float>({2, 1}, {6, 5}))})->output());
  const Tensor x = run_graph(graph, {})[0];
  EXPECT_EQ(x.data<float>()[0], 5);
  EXPECT_EQ(x.data<float>()[1], 3);
}

TEST(Solve, RefusesWhatDoesNotFit) {
  Graph graph;
  Value* a = graph.input("a", {DType::kF32, {2, 3}});
  Value* b = graph.input("b", {DType::kF32, {3, 1}});
  EXPECT_THAT(error_text([&] { graph.add(op::kSolve, {a, b}); }), HasSubstr("square"));
  Value* c = graph.input("c", {DType::kF32, {2, 2}});
  EXPECT_THAT(error_text([&] { graph.add(op::kSolve, {c, b}); }), HasSubstr("3 rows, the matrices 2"));
}

TEST(Det, GradientsMatchCentralDifferences) {
  check_gradients({{{2, 3, 3}}}, of_op(op::kDet));
  check_gradients({{{4, 4}, -8, 0}}, of_op(op::kDet));
  check_gradients({{{2, 3, 3}}}, [](const Values& v) { return Values{of_op(op::kSlogdet)(v)[1]}; });
}

TEST(Det, FastPathMatchesReference) {
  check_fast_path({{{2, 5, 5}}}, of_op(op::kDet), "", 2e-5);
  check_fast_path({{{2, 5, 5}}}, of_op(op::kSlogdet), "", 2e-5, false);
}

TEST(Slogdet, KeepsSignsAndWhatDeterminantsCannotHold) {
  Graph graph;
  Tensor large = Tensor::zeros(DType::kF32, {60, 60});
  for (int64_t i = 0; i < 60; ++i) large.data<float>()[i * 61] = i == 7 ? -10.0F : 10.0F;
  Value* sign_and_size = graph.add(op::kSlogdet, {graph.constant(large)})->output();
  graph.mark_output(sign_and_size);
  graph.mark_output(sign_and_size->producer()->output(1));
  Value* singular = graph.constant(Tensor::from<float>({2, 2}, {1, 2, 2, 4}));
  graph.mark_output(graph.add(op::kSlogdet, {singular})->output());
  const std::vector<Tensor> results = run_graph(graph, {});
  EXPECT_EQ(results[0].item(), -1);
  EXPECT_NEAR(results[1].item(), 60 * std::log(10.0), 1e-3);
  EXPECT_EQ(results[2].item(), 0);
}

}  // namespace
}  // namespace thalweg::testing
