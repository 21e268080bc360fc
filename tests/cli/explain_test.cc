// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Explain, TellsGraphKernelsMemoryAndTimes) {
  const auto report = json_of(run_program({"explain", golden_model("convnet"), "--batch", "2", "--json"}));
  EXPECT_EQ(report["opset"], 18);
  EXPECT_EQ(report["inputs"][0]["shape"], nlohmann::json({"N", 3, 16, 16}));
  EXPECT_EQ(report["operators"]["Conv"], 2);
  EXPECT_EQ(report["weight_bytes"], 4 * report["parameters"].get<int64_t>());
  EXPECT_GT(report["arena_bytes"], 0);
  ASSERT_EQ(report["parts"].size(), 1U);
  double total = 0;
  bool convolves = false;
  for (const auto& step : report["parts"][0]["steps"]) {
    total += step["ms"].get<double>();
    convolves = convolves || step["op"] == "conv";
    EXPECT_NE(step["kernel"], "");
  }
  EXPECT_TRUE(convolves);
  EXPECT_NEAR(report["total_ms"].get<double>(), total, 1e-9);
}

TEST(Explain, PartsThatDependOnTheDataAreAllThere) {
  const auto report = json_of(run_program({"explain", golden_model("loop"), "--input-shape", "x=4", "--json"}));
  EXPECT_THAT(report["parts"].dump(), HasSubstr("executed by itself"));
}

TEST(Explain, ShowsTheSlowestOnly) {
  const ProcessResult run = run_program({"explain", golden_model("convnet"), "--sort", "time", "--top", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("input  x f32[N, 3, 16, 16]"));
  EXPECT_THAT(run.out, HasSubstr(" more\n"));
  EXPECT_THAT(run.out, HasSubstr(" ms in all"));
}

TEST(Explain, DescribesAFileWithoutRunningIt) {
  const ProcessResult run = run_program({"explain", golden_model("attention"), "--no-run"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("nodes:"));
  EXPECT_THAT(run.out, Not(HasSubstr("kernel")));
}

}  // namespace
}  // namespace thalweg::testing
