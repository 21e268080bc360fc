// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/kernel_check.h"
#include "support/op_check.h"
#include "thalweg/autodiff.h"
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
  for (const auto& axes : kAxes) {
    for (const Shape& shape : {Shape{3, 17, 5}, Shape{1, 1, 1}, Shape{40, 33, 70}}) {
      check_fast_path({{shape, 0.9, 1.1}}, build(axes, false), "native", 2e-5);
    }
    check_fast_path({{{0, 2, 3}}}, build(axes, true), "", 2e-5, false);
  }
  const std::string name = GetParam().first;
  const std::string kernel = name == "sum" || name == "mean" ? "native" : "";
  check_fast_path({{{3, 17, 5}, 0.9, 1.1}}, build({0, 2}, false), kernel, 2e-2, true, DType::kBF16);
}

INSTANTIATE_TEST_SUITE_P(
    All, Reduce,
    ::testing::Values(std::pair{"sum", Reduction(ops::reduce_sum)}, std::pair{"mean", Reduction(ops::reduce_mean)},
                      std::pair{"max", Reduction(ops::reduce_max)}, std::pair{"min", Reduction(ops::reduce_min)},
                      std::pair{"prod", Reduction(ops::reduce_prod)}, std::pair{"l1", Reduction(ops::reduce_l1)},
                      std::pair{"l2", Reduction(ops::reduce_l2)},
                      std::pair{"log_sum_exp", Reduction(ops::reduce_log_sum_exp)}),
    [](const auto& test) { return test.param.first; });

/// The gradient of a reduction of each row.
std::vector<float> row_gradients(Reduction reduction, const Tensor& x) {
  Graph graph;
  Value* input = graph.input("x", x.type());
  graph.mark_output(differentiate(graph, ops::reduce_sum(reduction(input, {1}, false)), {input})[0].dense);
  const Tensor gradient = run_graph(graph, {x})[0];
  return {gradient.data<float>(), gradient.data<float>() + gradient.num_elements()};
}

TEST(Reduce, ExtremesKeepNaNAndFollowTheLayout) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Reduction reduction : {Reduction(ops::reduce_max), Reduction(ops::reduce_min)}) {
    Graph graph;
    graph.mark_output(reduction(graph.input("x", {DType::kF32, {3, 40}}), {1}, false));
    Tensor x = random_tensor(DType::kF32, {3, 40}, 1);
    x.data<float>()[45] = nan;
    const Tensor y = run_graph(graph, {x})[0];
    EXPECT_FALSE(std::isnan(y.data<float>()[0]));
    EXPECT_TRUE(std::isnan(y.data<float>()[1]));
    for (const int64_t channels : {16, 17}) {
      const BuildOp build = [&](const std::vector<Value*>& v) {
        return std::vector<Value*>{reduction(ops::conv(v[0], v[1]), {2, 3}, true)};
      };
      check_fast_path({{{2, channels, 5, 7}}, {{channels, channels, 1, 1}}}, build, "", 1e-4, false);
    }
  }
}

/// The reduction of each row of x.
std::vector<float> of_rows(Reduction reduction, const Tensor& x) {
  Graph graph;
  graph.mark_output(reduction(graph.input("x", x.type()), {1}, false));
  const Tensor y = run_graph(graph, {x})[0];
  return {y.data<float>(), y.data<float>() + y.num_elements()};
}

TEST(Reduce, FoldsOfExtremeNumbersAreTheirs) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({3, 3}, {3e20F, 4e20F, 0, 3e-30F, 4e-30F, 0, -5, 0, 12});
  const std::vector<float> norms = of_rows(ops::reduce_l2, x);
  EXPECT_FLOAT_EQ(norms[0], 5e20F);
  EXPECT_FLOAT_EQ(norms[1], 5e-30F);
  EXPECT_FLOAT_EQ(norms[2], 13);
  const Tensor powers = Tensor::from<float>({3, 2}, {1000, 1000, -inf, -inf, inf, 0});
  const std::vector<float> sums = of_rows(ops::reduce_log_sum_exp, powers);
  EXPECT_FLOAT_EQ(sums[0], 1000 + std::log(2.0F));
  EXPECT_EQ(sums[1], -inf);
  EXPECT_EQ(sums[2], inf);
  for (const Reduction reduction : {Reduction(ops::reduce_prod), Reduction(ops::reduce_l1), Reduction(ops::reduce_l2),
                                    Reduction(ops::reduce_log_sum_exp)}) {
    EXPECT_TRUE(std::isnan(of_rows(reduction, Tensor::from<float>({1, 2}, {std::nanf(""), 1}))[0]));
  }
}

TEST(Reduce, LongLinesAreFoldedWhole) {
  for (const int64_t size : {1, 63, 64, 65, 1000, 4099}) {
    const Tensor x = Tensor::full<float>({2, size}, -1.0F);
    EXPECT_FLOAT_EQ(of_rows(ops::reduce_prod, x)[1], size % 2 == 0 ? 1.0F : -1.0F);
    EXPECT_FLOAT_EQ(of_rows(ops::reduce_l1, x)[1], static_cast<float>(size));
    EXPECT_FLOAT_EQ(of_rows(ops::reduce_l2, x)[1], std::sqrt(static_cast<float>(size)));
    EXPECT_NEAR(of_rows(ops::reduce_log_sum_exp, x)[1], -1 + std::log(static_cast<double>(size)), 1e-6);
  }
}

/// Of activations whose channels do not fill the blocks in which they lie.
TEST(Reduce, BlocksOfChannelsMayBePadded) {
  using Tag = dnnl::memory::format_tag;
  const std::vector<Reduction> reductions{ops::reduce_sum,  ops::reduce_mean, ops::reduce_max,        ops::reduce_min,
                                          ops::reduce_prod, ops::reduce_l2,   ops::reduce_log_sum_exp};
  for (const int64_t channels : {1, 5, 21, 32}) {
    const TensorType type{DType::kF32, {3, channels, 4, 5}};
    const Tensor x = random_tensor(type.dtype, type.shape, 1);
    for (const auto& axes : std::vector<std::vector<int64_t>>{{2, 3}, {0, 2, 3}, {1, 2, 3}, {}}) {
      for (size_t which = 0; which < reductions.size(); ++which) {
        Graph graph;
        Value* y = reductions[which](graph.input("x", type), axes, which % 2 == 0);
        const Tensor expected = run_kernel(*y->producer(), "reference", {Layout(type)}, {x})[0];
        for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc}) {
          const Layout lies(type, dnnl::memory::desc(type.shape.dims(), to_dnnl(type.dtype), tag));
          expect_close(run_kernel(*y->producer(), "native", {lies}, {x}, 2)[0], expected, 1e-5, lies.to_string());
        }
      }
    }
  }
}

TEST(ExpandLike, SumsItsGradient) {
  const BuildOp build = [](const std::vector<Value*>& v) {
    return std::vector<Value*>{v[0]->graph().add("expand_like", {v[0], v[1]})->output()};
  };
  check_gradients({{{3, 1}}, {{2, 3, 4}, -1, 1, DType::kF64, false}}, build);
}

TEST(ReduceProd, ZerosHaveAGradient) {
  const Tensor x = Tensor::from<float>({3, 3}, {2, 3, 4, 0, 3, 4, 0, 0, 4});
  EXPECT_EQ(row_gradients(ops::reduce_prod, x), (std::vector<float>{12, 8, 6, 12, 0, 0, 0, 0, 0}));
}

TEST(ReduceL2, AtZeroTheGradientIsZero) {
  EXPECT_EQ(row_gradients(ops::reduce_l2, Tensor::zeros(DType::kF32, {2, 2})), (std::vector<float>{0, 0, 0, 0}));
}

TEST(ReduceSum, OfManyElementsKeepsItsPrecision) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1000, 5000}});
  graph.mark_output(ops::reduce_sum(x));
  const Tensor sum = run_graph(graph, {Tensor::full<float>({1000, 5000}, 0.1F)})[0];
  EXPECT_NEAR(sum.item(), 5e6 * static_cast<double>(0.1F), 0.5);
}

}  // namespace
}  // namespace thalweg::testing
