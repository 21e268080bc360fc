// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/compile_for_inference.h"

#include <gtest/gtest.h>

#include "base/cpu.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

std::unique_ptr<Graph> small_network() {
  auto graph = std::make_unique<Graph>("small network");
  Value* x = graph->input("x", {DType::kF32, {1, 32, 14, 14}});
  Value* w = graph->parameter("w", random_tensor(DType::kF32, {32, 1, 3, 3}, 1));
  graph->mark_output(
      ops::conv(x, w, nullptr, {.strides = {}, .pads = {1, 1}, .dilations = {}, .groups = 32, .activation = {}}));
  return graph;
}

bool computes_in_bf16(const Program& program) {
  for (const auto& node : program.graph().nodes()) {
    if (node->output()->dtype() == DType::kBF16) return true;
  }
  return false;
}

std::shared_ptr<Program> compile(Precision precision, Tuning tuning, const std::vector<Tensor>& inputs) {
  auto graph = small_network();
  auto variables = std::make_shared<Variables>(*graph);
  CompileOptions options;
  options.threads = 2;
  options.tuning = tuning;
  return compile_for_inference(std::move(graph), variables, precision, options, inputs);
}

TEST(CompileForInference, FixedTuningComputesInThePrecisionAskedFor) {
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, {1, 32, 14, 14}, 2)};
  EXPECT_FALSE(computes_in_bf16(*compile(Precision::kF32, Tuning::kFixed, inputs)));
  EXPECT_TRUE(computes_in_bf16(*compile(Precision::kBF16, Tuning::kFixed, inputs)));
}

TEST(CompileForInference, MeasuredTuningChoosesOnceAndAnswersAlike) {
  if (!cpu_computes_in_bf16()) GTEST_SKIP() << "bf16 would take long to emulate";
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, {1, 32, 14, 14}, 2)};
  const auto expected = Session(compile(Precision::kF32, Tuning::kFixed, inputs)).run(inputs);
  const auto first = compile(Precision::kBF16, Tuning::kMeasured, inputs);
  const auto again = compile(Precision::kBF16, Tuning::kMeasured, inputs);
  EXPECT_EQ(computes_in_bf16(*first), computes_in_bf16(*again));
  expect_close(Session(first).run(inputs)[0], expected[0], 0.03, "output");
  expect_close(Session(again).run(inputs)[0], expected[0], 0.03, "output");
}

}  // namespace
}  // namespace thalweg::testing
