// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/step_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/program.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// One convolution of `channels` to as many over an image of `size` x `size`.
std::unique_ptr<Graph> convolution(int64_t channels, int64_t size) {
  auto graph = std::make_unique<Graph>("convolution");
  Value* x = graph->input("x", {DType::kF32, {1, channels, size, size}});
  Value* w = graph->parameter("w", random_tensor(DType::kF32, {channels, channels, 3, 3}, 1, -0.1, 0.1));
  graph->mark_output(ops::conv(x, w));
  return graph;
}

int threads_for(const Graph& graph, int threads) { return worthwhile_threads(*graph.nodes().front(), threads); }

TEST(StepThreads, GrowWithTheWorkOfAConvolution) {
  EXPECT_EQ(threads_for(*convolution(8, 8), 16), 1);
  const int some = threads_for(*convolution(32, 14), 16);
  EXPECT_GT(some, 1);
  EXPECT_LT(some, 16);
  EXPECT_EQ(threads_for(*convolution(128, 56), 16), 16);
  EXPECT_EQ(threads_for(*convolution(128, 56), 1), 1);
}

TEST(StepThreads, GrowWithTheWorkOfAProduct) {
  const auto product = [](int64_t rows, int64_t size) {
    auto graph = std::make_unique<Graph>("product");
    Value* x = graph->input("x", {DType::kF32, {rows, size}});
    graph->mark_output(ops::linear(x, graph->parameter("w", random_tensor(DType::kF32, {size, size}, 1))));
    return graph;
  };
  EXPECT_EQ(threads_for(*product(1, 64), 4), 1);
  EXPECT_EQ(threads_for(*product(64, 256), 4), 4);
  // One row reads all weights for few multiplications each: that is worth threads as well.
  EXPECT_EQ(threads_for(*product(1, 1024), 4), 4);
}

TEST(StepThreads, ArePrintedAndHeeded) {
  CompileOptions options;
  options.threads = 2;
  const Tensor x = random_tensor(DType::kF32, {1, 8, 8, 8}, 2);
  std::vector<Tensor> results;
  for (const int threads : {1, 2}) {
    auto graph = convolution(8, 8);
    auto variables = std::make_shared<Variables>(*graph);
    options.threads = threads;
    const auto program = Program::compile(std::move(graph), variables, options);
    for (const Step& step : program->steps()) {
      if (step.node != nullptr) {
        EXPECT_EQ(step.threads, 1);
      }
    }
    if (threads == 2) {
      EXPECT_THAT(program->explain({}), ::testing::HasSubstr("(1 thread)"));
    }
    results.push_back(Session(program).run(std::vector{x}).front());
  }
  expect_close(results[1], results[0], 1e-6, "on two threads");
}

TEST(StepThreads, KernelsThatAreAskedForByNameGetAll) {
  auto graph = convolution(8, 8);
  auto variables = std::make_shared<Variables>(*graph);
  CompileOptions options;
  options.threads = 2;
  options.only_kernels = {"onednn"};
  const auto program = Program::compile(std::move(graph), variables, options);
  for (const Step& step : program->steps()) {
    if (step.node != nullptr) {
      EXPECT_EQ(step.threads, 2);
    }
  }
}

}  // namespace
}  // namespace thalweg::testing
