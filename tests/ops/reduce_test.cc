// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Reduction = Value* (*)(Value*, const std::vector<int64_t>&, bool);

class Reduce : public ::testing::TestWithParam<std::pair<const char*, Reduction>> {
 protected:
  static BuildOp build(const std::vector<int64_t>& axes, bool keep) {
    return [=](const std::vector<Value*>& v) { return std::vector<Value*>{GetParam().second(v[0], axes, keep)}; };
  }
};

const std::vector<std::vector<int64_t>> kAxes{{}, {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {-1}};

TEST_P(Reduce, GradientsMatchCentralDifferences) {
  for (const auto& axes : kAxes) check_gradients({{{2, 3, 4}, 0.5, 1.5}}, build(axes, axes.size() == 1));
}

TEST_P(Reduce, FastPathMatchesReference) {
  const std::string name = GetParam().first;
  const std::string kernel = name == "sum" || name == "mean" ? "native" : "";
  for (const auto& axes : kAxes) {
    for (const Shape& shape : {Shape{3, 17, 5}, Shape{1, 1, 1}, Shape{40, 33, 70}}) {
      check_fast_path({{shape, 0.9, 1.1}}, build(axes, false), name == "prod" ? "" : kernel, 2e-5);
    }
    check_fast_path({{{0, 2, 3}}}, build(axes, true), "", 2e-5, false);
  }
  check_fast_path({{{3, 17, 5}, 0.9, 1.1}}, build({0, 2}, false), kernel, 2e-2, true, DType::kBF16);
}

INSTANTIATE_TEST_SUITE_P(All, Reduce,
                         ::testing::Values(std::pair{"sum", Reduction(ops::reduce_sum)},
                                           std::pair{"mean", Reduction(ops::reduce_mean)},
                                           std::pair{"l2", Reduction(ops::reduce_l2)},
                                           std::pair{"log_sum_exp", Reduction(ops::reduce_log_sum_exp)}),
                         [](const auto& test) { return test.param.first; });

TEST(ReduceSum, OfManyElementsKeepsItsPrecision) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1000, 5000}});
  graph.mark_output(ops::reduce_sum(x));
  const Tensor sum = run_graph(graph, {Tensor::full<float>({1000, 5000}, 0.1F)})[0];
  EXPECT_NEAR(sum.item(), 5e6 * static_cast<double>(0.1F), 0.5);
}

}  // namespace
}  // namespace thalweg::testing
