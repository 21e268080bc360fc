// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

TEST(Bench, MeasuresStreamsOfOneModel) {
  const auto report = json_of(run_program({"bench", golden_model("convnet"), "--batch", "4", "--streams", "2",
                                           "--threads", "1", "--seconds", "0.05", "--json"}));
  EXPECT_EQ(report["streams"], 2);
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["inputs"][0]["shape"], (std::vector<int64_t>{4, 3, 16, 16}));
  EXPECT_GE(report["runs"], 6);
  const auto& latency = report["latency_ms"];
  EXPECT_GT(latency["min"], 0);
  EXPECT_LE(latency["min"], latency["p50"]);
  EXPECT_LE(latency["p50"], latency["p90"]);
  EXPECT_LE(latency["p90"], latency["p99"]);
  EXPECT_LE(latency["p99"], latency["max"]);
  EXPECT_NEAR(report["samples_per_second"].get<double>(), 4 * report["runs_per_second"].get<double>(), 1e-6);
  EXPECT_GT(report["peak_memory_bytes"], report["weight_bytes"]);
}

TEST(Bench, PrintsForPeople) {
  const ProcessResult run = run_program({"bench", golden_model("convnet"), "--seconds", "0"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("p99"));
  EXPECT_THAT(run.out, HasSubstr("samples/s"));
  EXPECT_EQ(run.error, "");  // no progress where stderr is no terminal
}

TEST(Bench, ShapesThatAreMissingOrWrongAreWrongUsage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{golden_model("attention")}, "input \"x\" is [N, T, 8]: give --input-shape x=..."},
      {{golden_model("attention"), "--input-shape", "y=1x5x8"}, "the model's inputs are x"},
      {{golden_model("attention"), "--input-shape", "x=1xx8"}, "is not like name=1x3x224x224"},
      {{golden_model("upscale"), "--batch", "3"}, "--batch 3: input \"x\" is [1, 2, H, W]"},
      {{golden_model("convnet"), "--streams", "0"}, "--streams"},
  };
  for (auto [arguments, text] : cases) {
    arguments.insert(arguments.begin(), "bench");
    const ProcessResult run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.error;
    EXPECT_THAT(run.error, HasSubstr(text));
  }
}

TEST(Bench, AModelThatCannotBeReadOrRunFails) {
  const ProcessResult missing = run_program({"bench", "/no/such/model.onnx"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.error, HasSubstr("/no/such/model.onnx"));
  const ProcessResult misfit = run_program({"bench", golden_model("attention"), "--input-shape", "1x5x9"});
  EXPECT_EQ(misfit.exit_code, 1);
  EXPECT_THAT(misfit.error, HasSubstr("takes f32[?,?,8], got f32[1,5,9]"));
}

}  // namespace
}  // namespace thalweg::testing
