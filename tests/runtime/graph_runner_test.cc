// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_runner.h"

#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// What is kept of the programs for inputs of 1 to `shapes` rows, twice, once all of them have given the right results.
size_t kept_after(size_t kept_steps, int max_programs, int64_t shapes) {
  Graph graph("rows");
  Value* x = graph.input("x", {DType::kF32, {kFree, 3}});
  graph.mark_output(ops::reduce_sum(ops::tanh(x), {0}));
  auto variables = std::make_shared<Variables>(graph);
  std::shared_mutex mutex;
  RunnerOptions options;
  options.max_programs = max_programs;
  RunnerContext context{"rows", options, variables, mutex};
  GraphRunner runner(graph, context, kept_steps);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t rows = 1; rows <= shapes; ++rows) {
      const Tensor given = random_tensor(DType::kF32, {rows, 3}, static_cast<uint64_t>(rows));
      expect_close(runner.run({given})[0], run_graph(graph, {given})[0], 1e-6, "sum");
    }
  }
  return runner.num_compiled();
}

TEST(GraphRunner, KeepsAsManyProgramsAsAsked) {
  EXPECT_EQ(kept_after(0, 3, 10), 3U);
  EXPECT_EQ(kept_after(0, 1, 2), 1U);
}

TEST(GraphRunner, KeepsFurtherProgramsWhileTheyAreSmall) {
  EXPECT_EQ(kept_after(1000, 3, 10), 10U);
  const size_t some = kept_after(12, 3, 10);
  EXPECT_GE(some, 3U);
  EXPECT_LT(some, 10U);
}

}  // namespace
}  // namespace thalweg::testing
