// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/absorb_padding.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

using Build = std::function<Value*(Value* x, Value* weight)>;

/// Runs what `build` makes before and after the pass, which must leave as many pads as said.
void check(const Build& build, size_t expected_pads, const Shape& x = {2, 3, 7, 6}) {
  Graph graph;
  Value* input = graph.input("x", {DType::kF32, x});
  graph.mark_output(build(input, graph.constant(random_tensor(DType::kF32, {4, 3, 3, 3}, 2))));
  const std::vector<Tensor> given{random_tensor(DType::kF32, x, 1)};
  const Tensor expected = run_graph(graph, given)[0];
  absorb_padding(graph);
  graph.verify();
  size_t pads = 0;
  for (const auto& node : graph.nodes()) pads += node->op_name() == "pad" ? 1 : 0;
  EXPECT_EQ(pads, expected_pads) << graph.to_string();
  expect_close(run_graph(graph, given)[0], expected, 1e-5, graph.to_string());
}

ops::ConvOptions window(std::vector<int64_t> strides, std::vector<int64_t> pads, std::vector<int64_t> dilations = {}) {
  ops::ConvOptions options;
  options.strides = std::move(strides);
  options.pads = std::move(pads);
  options.dilations = std::move(dilations);
  return options;
}

ops::PoolOptions pool(std::vector<int64_t> kernel, std::vector<int64_t> strides) {
  ops::PoolOptions options;
  options.kernel = std::move(kernel);
  options.strides = std::move(strides);
  return options;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* margin(Value* x, const std::vector<int64_t>& pads, double value = 0.0) {
  return ops::pad(x, pads, "constant", value);
}

TEST(AbsorbPadding, ZerosBeforeAConvolution) {
  check([](Value* x, Value* w) { return ops::conv(margin(x, {0, 0, 1, 0, 0, 0, 1, 2}), w); }, 0);
  check(
      [](Value* x, Value* w) {
        return ops::conv(margin(x, {0, 0, 0, 1, 0, 0, 1, 1}), w, nullptr, window({2, 2}, {1, 1}));
      },
      0);
  check(
      [](Value* x, Value* w) {
        return ops::conv(margin(x, {0, 0, 2, 2, 0, 0, 2, 2}), w, nullptr, window({}, {}, {2, 2}));
      },
      0, {1, 3, 1, 1});
  // Several convolutions read the same margin.
  check(
      [](Value* x, Value* w) {
        Value* padded = margin(x, {0, 0, 1, 1, 0, 0, 1, 1});
        return ops::add(ops::conv(padded, w), ops::conv(padded, w));
      },
      0);
  check([](Value* x, Value* w) { return ops::conv(margin(x, {0, 0, 1, 1, 0, 0, 1, 1}), w); }, 0, {0, 3, 4, 4});
}

TEST(AbsorbPadding, OtherMarginsStay) {
  check([](Value* x, Value* w) { return ops::conv(margin(x, {0, 0, 1, 1, 0, 0, 1, 1}, 0.5), w); }, 1);
  check([](Value* x, Value* w) { return ops::conv(margin(x, {1, 0, 1, 1, 0, 0, 1, 1}), w); }, 1);
  check([](Value* x, Value* w) { return ops::conv(margin(x, {0, 0, -1, 1, 0, 0, 1, 1}), w); }, 1);
  check([](Value* x, Value* w) { return ops::conv(ops::pad(x, {0, 0, 1, 1, 0, 0, 1, 1}, "reflect"), w); }, 1);
  // Windows that lie in the margin altogether.
  check([](Value* x, Value* w) { return ops::conv(margin(x, {0, 0, 3, 1, 0, 0, 1, 1}), w); }, 1);
  check([](Value* x, Value*) { return ops::max_pool(margin(x, {0, 0, 1, 1, 0, 0, 1, 1}), pool({3, 3}, {2, 2})); }, 1);
  check([](Value* x, Value*) { return ops::avg_pool(margin(x, {0, 0, 1, 1, 0, 0, 1, 1}), pool({3, 3}, {2, 2})); }, 1);
}

TEST(AbsorbPadding, TheLowestNumberBeforeAMaximum) {
  for (const double lowest : {-kInfinity, static_cast<double>(std::numeric_limits<float>::lowest())}) {
    check(
        [&](Value* x, Value*) {
          return ops::max_pool(margin(x, {0, 0, 0, 1, 0, 0, 1, 1}, lowest), pool({3, 3}, {2, 2}));
        },
        0);
    check(
        [&](Value* x, Value*) {
          return ops::max_pool(margin(x, {0, 0, 2, 0, 0, 0, 0, 0}, lowest), pool({2, 2}, {1, 1}));
        },
        1);
    ops::PoolOptions ceil = pool({3, 3}, {2, 2});
    ceil.ceil_mode = true;
    check([&](Value* x, Value*) { return ops::max_pool(margin(x, {0, 0, 0, 1, 0, 0, 1, 1}, lowest), ceil); }, 1);
  }
}

}  // namespace
}  // namespace thalweg
