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
    check_both({{{4, 5}}, {{3, 4}, -4, 4, DType::kI64}}, build, "native gather_elements");
    check_both({{{4, 5, 1}}, {{3, 2, 1}, 0, 4, DType::kI32}}, build, "native gather_elements");
    check_both({{{4, 5}}, {{0, 4}, 0, 4, DType::kI64}}, build, "reference");
    check_fast_path({{{130, 200}}, {{130, 190}, 0, 130, DType::kI64}}, build, "native gather_elements");
    check_fast_path({{{131, 200, 3}}, {{axis == 0 ? 77 : 131, axis == 1 ? 77 : 200, 3}, -131, 131, DType::kI64}}, build,
                    "native gather_elements");
    check_both({{{1, 5, 2}}, {{1, axis == 1 ? 9 : 5, 2}, -1, 1, DType::kI64}}, build, "native gather_elements");
  }
}

TEST(ScatterElements, SetsOrAdds) {
  for (int64_t axis : {0, 1}) {
    const BuildOp add = [axis](const Values& v) { return Values{ops::scatter_elements(v[0], v[1], v[2], axis, true)}; };
    check_both({{{4, 5}}, {{3, 4}, 0, 4, DType::kI64}, {{3, 4}}}, add, "native scatter_elements");
    check_both({{{4, 1}}, {{0, 1}, 0, 1, DType::kI64}, {{0, 1}}}, add, "reference");
    check_fast_path({{{130, 200}}, {{120, 190}, 0, 130, DType::kI64}, {{120, 190}}}, add, "native scatter_elements");
  }
  // Setting has no defined winner, hence no gradient, among equal places: one row of indices has none.
  const BuildOp set = [](const Values& v) { return Values{ops::scatter_elements(v[0], v[1], v[2], 0)}; };
  check_both({{{4, 5}}, {{1, 4}, 0, 4, DType::kI64}, {{1, 4}}}, set, "native scatter_elements");
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

}  // namespace
}  // namespace thalweg::testing
