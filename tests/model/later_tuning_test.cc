// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// A model answers at once and takes the kernels that are measured while it is in use.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/simd/dispatch.h"
#include "runtime/program.h"
#include "runtime/tuner.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

const Shape kInput{1, 96, 21, 17};

std::unique_ptr<Graph> small_network() {
  auto graph = std::make_unique<Graph>("small network");
  Value* x = graph->input("x", {DType::kF32, kInput});
  Value* w = graph->parameter("w", random_tensor(DType::kF32, {72, 96, 1, 1}, 1));
  graph->mark_output(ops::conv(x, w));
  return graph;
}

InferenceOptions measured() {
  InferenceOptions options;
  options.threads = 2;
  options.tuning = Tuning::kMeasured;
  return options;
}

/// What the tuner calls the convolution.
std::string key_of_network() {
  auto graph = small_network();
  auto variables = std::make_shared<Variables>(*graph);
  prepare_for_inference(*graph);
  CompileOptions options;
  options.threads = 2;
  options.tuning = Tuning::kMeasured;
  options.tune_later = true;
  const auto program = Program::compile(std::move(graph), variables, options);
  return program->unmeasured().empty() ? "" : conv_key(program->unmeasured()[0]);
}

bool uses(const Model& model, const std::string& kernel, const std::vector<Tensor>& inputs) {
  return model.explain(inputs).find(": " + kernel) != std::string::npos;
}

/// The weights in memory, and in a file, from where each program has them arranged for itself.
class LaterTuningOfModel : public ::testing::TestWithParam<bool> {};

TEST_P(LaterTuningOfModel, TakesWhatIsKnownByNow) {
  if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "there is one way without AVX2";
  const TemporaryDirectory folder;
  Model built(small_network(), measured());
  built.save(folder / "model.onnx");
  const Model model = GetParam() ? Model::load(folder / "model.onnx", measured()) : std::move(built);
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, kInput, 2)};
  const std::string key = key_of_network();
  ASSERT_NE(key, "") << "some test has measured this convolution";
  const Tensor first = model.predict(inputs)[0];
  Tuner& tuner = Tuner::for_this_cpu();
  tuner.set(key, "direct");  // by the rule it is a product
  for (int run = 0; run < 100 && !uses(model, "onednn", inputs); ++run) model.predict(inputs);
  EXPECT_TRUE(uses(model, "onednn", inputs)) << model.explain(inputs);
  expect_close(model.predict(inputs)[0], first, 1e-5, "the answer by another kernel");
  tuner.set(key, "");  // as if nobody had measured
}

INSTANTIATE_TEST_SUITE_P(Weights, LaterTuningOfModel, ::testing::Values(false, true),
                         [](const auto& test) { return std::string(test.param ? "stored" : "built"); });

TEST(LaterTuning, StreamsGetRightAnswersWhileAModelSettles) {
  const TemporaryDirectory folder;
  Model(small_network(), measured()).save(folder / "model.onnx");
  InferenceOptions fixed = measured();
  fixed.tuning = Tuning::kFixed;
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, kInput, 3)};
  const Tensor expected = Model::load(folder / "model.onnx", fixed).predict(inputs)[0];
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Model model = Model::load(folder / "model.onnx", measured());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int run = 0; run < 200; ++run) expect_close(model.predict(inputs)[0], expected, 1e-5, "an answer");
      });
    }
    for (std::thread& thread : threads) thread.join();
    Tuner::for_this_cpu().set(key_of_network(), "");
  }
}

}  // namespace
}  // namespace thalweg::testing
