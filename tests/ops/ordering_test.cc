// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Values = std::vector<Value*>;

const std::vector<Shape> kShapes{{3, 5, 7}, {1, 1, 1}, {4, 1, 3}, {20, 31, 30}};

TEST(ArgMax, GivesTheFirstOfEquals) {
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

TEST(ArgMax, FastPathMatchesReference) {
  for (int64_t axis : {0, 1, -1}) {
    const BuildOp build = [axis](const Values& v) {
      return Values{ops::arg_max(v[0], axis), ops::arg_min(v[0], axis, true)};
    };
    for (const Shape& shape : kShapes) {
      check_fast_path({{shape}}, build, "native arg_max", 0);
      check_fast_path({{shape, 0, 4, DType::kI64}}, build, "native arg_min", 0);
    }
  }
  const BuildOp build = [](const Values& v) { return Values{ops::arg_max(v[0], 1), ops::arg_min(v[0], 1)}; };
  check_fast_path({{{0, 3}}}, build, "reference", 0);
  check_fast_path({{{3, 4}}}, build, "reference", 0, false, DType::kBF16);
}

BuildOp top_k(int64_t k, int64_t axis, bool largest) {
  return [=](const Values& v) {
    const ops::TopK best = ops::top_k(v[0], k, axis, largest);
    return Values{best.values, best.indices};
  };
}

TEST(TopK, IsStable) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {5}});
  graph.mark_output(ops::top_k(x, 3).indices);
  const auto out = run_graph(graph, {Tensor::from<float>({5}, {1, 7, 3, 7, 2})});
  EXPECT_EQ(out[0].data<int64_t>()[0], 1);
  EXPECT_EQ(out[0].data<int64_t>()[1], 3);
  EXPECT_EQ(out[0].data<int64_t>()[2], 2);
  EXPECT_THROW(ops::top_k(x, 6), Error);
}

TEST(TopK, IsDifferentiable) {
  for (bool largest : {true, false}) {
    check_gradients({{{3, 6, 2}}},
                    [largest](const Values& v) { return Values{ops::top_k(v[0], 2, 1, largest).values}; });
  }
}

TEST(TopK, FastPathMatchesReference) {
  for (bool largest : {true, false}) {
    for (int64_t axis : {0, 1, 2}) {
      for (const Shape& shape : kShapes) {
        const int64_t size = shape[static_cast<int>(axis)];
        for (const int64_t k : {int64_t{1}, (size + 1) / 2, size}) {
          check_fast_path({{shape}}, top_k(k, axis, largest), "native top_k", 0);
        }
        check_fast_path({{shape, 0, 4, DType::kI32}}, top_k(1, axis, largest), "native top_k", 0);
      }
    }
  }
  check_fast_path({{{0, 3}}}, top_k(2, 1, true), "reference", 0);
}

TEST(TopK, NotANumberIsTheLargest) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* kernel : {"native", "reference"}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {6}});
    graph.mark_output(ops::top_k(x, 3).indices);
    graph.mark_output(ops::top_k(x, 5, -1, false).indices);
    CompileOptions options;
    options.only_kernels = {kernel};
    const auto out = run_graph(graph, {Tensor::from<float>({6}, {2, nan, 1, nan, 3, 0})}, options);
    const auto* largest = out[0].data<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(largest, largest + 3), (std::vector<int64_t>{1, 3, 4}));
    const auto* smallest = out[1].data<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(smallest, smallest + 5), (std::vector<int64_t>{5, 2, 0, 4, 1}));
  }
}

TEST(Cumsum, GradientsAndFastPath) {
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      for (int64_t axis : {0, 1, -1}) {
        const BuildOp build = [=](const Values& v) { return Values{ops::cumsum(v[0], axis, exclusive, reverse)}; };
        check_gradients({{{2, 5, 3}}}, build);
        for (const Shape& shape : kShapes) check_fast_path({{shape}}, build, "native cumsum", 1e-6);
        check_fast_path({{{2, 0, 3}}}, build, "reference");
      }
    }
  }
}

TEST(Cumsum, OfIntegersIsExact) {
  constexpr int64_t large = (int64_t{1} << 60) + 1;
  for (const char* kernel : {"native", "reference"}) {
    Graph graph;
    graph.mark_output(ops::cumsum(graph.input("x", {DType::kI64, {2}}), 0));
    CompileOptions options;
    options.only_kernels = {kernel};
    EXPECT_EQ(run_graph(graph, {Tensor::from<int64_t>({2}, {large, 2})}, options)[0].data<int64_t>()[1], large + 2);
  }
}

}  // namespace
}  // namespace thalweg::testing
