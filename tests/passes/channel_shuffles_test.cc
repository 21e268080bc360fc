// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/channel_shuffles.h"

#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

/// Runs reshape, transpose and reshape before and after the pass, which must leave as many gathers as said.
void check(const Shape& x, const std::vector<int64_t>& parted, const std::vector<int64_t>& order,
           const std::vector<int64_t>& back, bool expected, bool read_twice = false) {
  Graph graph;
  Value* middle = ops::reshape(graph.input("x", {DType::kF32, x}), parted);
  Value* last = ops::reshape(ops::transpose(middle, order), back);
  graph.mark_output(last);
  if (read_twice) graph.mark_output(ops::exp(middle));
  const std::vector<Tensor> given{random_tensor(DType::kF32, x, 1)};
  const Tensor before = run_graph(graph, given)[0];
  say_channel_shuffles(graph);
  graph.verify();
  size_t gathers = 0;
  for (const auto& node : graph.nodes()) gathers += node->op_name() == "gather" ? 1 : 0;
  EXPECT_EQ(gathers, expected ? 1U : 0U) << graph.to_string();
  expect_close(run_graph(graph, given)[0], before, 0.0, graph.to_string());
}

TEST(ChannelShuffles, AreSelections) {
  check({2, 6, 4, 5}, {2, 2, 3, 4, 5}, {0, 2, 1, 3, 4}, {2, 6, 4, 5}, true);
  check({1, 35, 3, 3}, {1, 5, 7, 3, 3}, {0, 2, 1, 3, 4}, {1, 35, 3, 3}, true);
  check({1, 1, 1, 1}, {1, 1, 1, 1, 1}, {0, 2, 1, 3, 4}, {1, 1, 1, 1}, true);
  check({3, 8, 7}, {3, 2, 4, 7}, {0, 2, -3, 3}, {3, 8, 7}, true);
}

TEST(ChannelShuffles, OtherTransposesStay) {
  check({2, 6, 4, 5}, {2, 2, 3, 4, 5}, {0, 2, 1, 4, 3}, {2, 6, 4, 5}, false);
  check({2, 6, 4, 5}, {2, 2, 3, 4, 5}, {0, 2, 1, 3, 4}, {2, 6, 5, 4}, false);
  check({2, 6, 4, 5}, {2, 6, 2, 2, 5}, {0, 2, 1, 3, 4}, {2, 6, 4, 5}, false);
  check({2, 6, 4, 5}, {2, 2, 3, 4, 5}, {0, 2, 1, 3, 4}, {2, 6, 4, 5}, false, true);
  check({0, 6, 4, 5}, {0, 2, 3, 4, 5}, {0, 2, 1, 3, 4}, {0, 6, 4, 5}, false);
}

}  // namespace
}  // namespace thalweg
