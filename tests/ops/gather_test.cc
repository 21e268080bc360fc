// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Values = std::vector<Value*>;

void check_both(const std::vector<Operand>& operands, const BuildOp& build, const std::string& kernel = "") {
  check_gradients(operands, build);
  check_fast_path(operands, build, kernel, 1e-6);
}

TEST(Gather, TakesAlongEveryAxis) {
  for (int64_t axis : {0, 1, -1}) {
    const BuildOp build = [axis](const Values& v) { return Values{ops::gather(v[0], v[1], axis)}; };
    check_both({{{4, 5, 3}}, {{2, 3}, 0, 3, DType::kI64}}, build, "native gather");
    check_both({{{4, 5, 3}}, {{6}, -3, 3, DType::kI32}}, build, "native gather");
    check_both({{{1, 1, 1}}, {{1, 1}, 0, 1, DType::kI64}}, build, "native gather");
    check_both({{{4, 5, 3}}, {{}, 0, 3, DType::kI64}}, build, "native gather");
    check_both({{{4, 5, 3}}, {{0}, 0, 3, DType::kI64}}, build, "reference");
  }
}

TEST(Gather, AnIndexOutOfRangeIsNamed) {
  for (const char* kernel : {"native", "reference"}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {4, 2}});
    Value* indices = graph.input("i", {DType::kI64, {3}});
    graph.mark_output(ops::embedding(x, indices, -1, "words"));
    CompileOptions options;
    options.only_kernels = {kernel};
    try {
      run_graph(graph, {Tensor::zeros(DType::kF32, {4, 2}), Tensor::from<int64_t>({3}, {0, 1, 7})}, options);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("embedding 'words': index 7 at position 2"), std::string::npos)
          << error.what();
    }
  }
}

TEST(GatherElements, TakesAlongAnAxis) {
  for (int64_t axis : {0, 1}) {
    const BuildOp build = [axis](const Values& v) { return Values{ops::gather_elements(v[0], v[1], axis)}; };
    check_both({{{4, 5}}, {{3, 4}, -4, 4, DType::kI64}}, build);
  }
}

TEST(ScatterElements, SetsOrAdds) {
  const BuildOp add = [](const Values& v) { return Values{ops::scatter_elements(v[0], v[1], v[2], 0, true)}; };
  check_both({{{4, 5}}, {{3, 4}, 0, 4, DType::kI64}, {{3, 4}}}, add);
  // Setting has no defined winner, hence no gradient, among equal places: one row of indices has none.
  const BuildOp set = [](const Values& v) { return Values{ops::scatter_elements(v[0], v[1], v[2], 0)}; };
  check_both({{{4, 5}}, {{1, 4}, 0, 4, DType::kI64}, {{1, 4}}}, set);
}

TEST(Embedding, GradientIsSparseRows) {
  const BuildOp build = [](const Values& v) { return Values{ops::embedding(v[0], v[1])}; };
  check_both({{{7, 3}}, {{2, 5}, 0, 7, DType::kI64}}, build, "native gather");
  check_both({{{7, 1}}, {{5}, 0, 7, DType::kI32}}, build, "native gather");
  check_both({{{7, 3}}, {{0, 5}, 0, 7, DType::kI32}}, build);
  check_fast_path({{{900, 64}}, {{400}, 0, 900, DType::kI64}}, build, "native scatter_rows_add");
  Graph graph;
  Value* table = graph.parameter("table", random_tensor(DType::kF32, {7, 3}, 1));
  Value* indices = graph.input("i", {DType::kI64, {2, 5}});
  add_gradients(graph, ops::reduce_sum(ops::embedding(table, indices)));
  ASSERT_EQ(graph.gradients().size(), 1U);
  EXPECT_TRUE(graph.gradients()[0].is_sparse());
  EXPECT_EQ(graph.gradients()[0].rows->shape(), (Shape{10, 3}));
}

TEST(Embedding, OfAComputedTableHasADenseGradient) {
  const BuildOp build = [](const Values& v) { return Values{ops::embedding(ops::tanh(v[0]), v[1])}; };
  check_both({{{7, 3}}, {{2, 5}, 0, 7, DType::kI64}}, build, "native scatter_rows_add");
}

TEST(Embedding, ThePaddingRowGetsNoGradient) {
  Graph graph;
  Value* table = graph.input("table", {DType::kF32, {3, 2}});
  Value* indices = graph.input("i", {DType::kI64, {4}});
  Value* loss = ops::reduce_sum(ops::embedding(table, indices, 1));
  const Gradient gradient = differentiate(graph, loss, {table})[0];
  graph.mark_output(gradient.rows);
  const auto out = run_graph(graph, {Tensor::zeros(DType::kF32, {3, 2}), Tensor::from<int64_t>({4}, {0, 1, 2, 1})});
  const float* rows = out[0].data<float>();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(rows[i], i / 2 % 2 == 1 ? 0.0F : 1.0F) << i;
}

TEST(Ordering, ArgMaxGivesTheFirstOfEquals) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  graph.mark_output(ops::arg_max(x, 1));
  graph.mark_output(ops::arg_min(x, 0, true));
  const auto out = run_graph(graph, {Tensor::from<float>({2, 3}, {1, 5, 5, 4, 0, 4})});
  EXPECT_EQ(out[0].shape(), (Shape{2}));
  EXPECT_EQ(out[0].data<int64_t>()[0], 1);
  EXPECT_EQ(out[0].data<int64_t>()[1], 0);
  EXPECT_EQ(out[1].shape(), (Shape{1, 3}));
  EXPECT_EQ(out[1].data<int64_t>()[1], 1);
}

TEST(Ordering, TopKIsStableAndDifferentiable) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {5}});
  const auto best = ops::top_k(x, 3);
  graph.mark_output(best.indices);
  const auto out = run_graph(graph, {Tensor::from<float>({5}, {1, 7, 3, 7, 2})});
  EXPECT_EQ(out[0].data<int64_t>()[0], 1);
  EXPECT_EQ(out[0].data<int64_t>()[1], 3);
  EXPECT_EQ(out[0].data<int64_t>()[2], 2);
  for (bool largest : {true, false}) {
    check_both({{{3, 6, 2}}}, [largest](const Values& v) { return Values{ops::top_k(v[0], 2, 1, largest).values}; });
  }
  EXPECT_THROW(ops::top_k(x, 6), Error);
}

TEST(Ordering, CumsumIsDifferentiable) {
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      const BuildOp build = [=](const Values& v) { return Values{ops::cumsum(v[0], 1, exclusive, reverse)}; };
      check_both({{{2, 5, 3}}}, build);
      check_both({{{2, 0, 3}}}, build);
    }
  }
}

}  // namespace
}  // namespace thalweg::testing
