// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCommands[] = {"bench",  "compare", "convert", "data",    "doctor", "explain",
                                     "launch", "models",  "predict", "schemes", "trial"};

TEST(Program, HelpListsTheCommands) {
  const ProcessResult run = run_program({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* command : kCommands) EXPECT_THAT(run.out, HasSubstr(command));
  EXPECT_THAT(run.out, HasSubstr("Exit codes"));
}

TEST(Program, EachCommandHelpsWithAnExample) {
  for (const char* command : kCommands) {
    const ProcessResult run = run_program({command, "--help"});
    EXPECT_EQ(run.exit_code, 0) << command;
    EXPECT_THAT(run.out, HasSubstr(std::string("Example:\n  thalweg ") + command));
    EXPECT_THAT(run.out, HasSubstr("--json"));
    EXPECT_THAT(run.out, HasSubstr("Exit codes: 0"));
  }
}

TEST(Program, HelpIsACommandToo) {
  EXPECT_EQ(run_program({"help", "train"}).out, run_program({"train", "--help"}).out);
  EXPECT_EQ(run_program({"help"}).out, run_program({"--help"}).out);
  EXPECT_THAT(run_program({"help", "train"}).out, HasSubstr("schedule"));
  EXPECT_THAT(run_program({"help"}).out, HasSubstr("Trains models"));
  const ProcessResult unknown = run_program({"help", "tarin"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("there is no command \"tarin\"; near: train"));
}

TEST(Program, WrongUsageIsOneLineAndTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "which command?"},
      {{"benhc"}, "near: bench"},
      {{"doctor", "--no-such-option"}, "doctor: there is no option --no-such-option; near: "},
      {{"predict", "--topp", "3"}, "predict: there is no option --topp; near: --top, "},
      {{"explain"}, "explain: MODEL is required"},
  };
  for (const auto& [arguments, text] : cases) {
    const ProcessResult run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.error, HasSubstr(text));
    EXPECT_EQ(std::count(run.error.begin(), run.error.end(), '\n'), 1) << run.error;
    EXPECT_EQ(run.out, "");
  }
}

}  // namespace
}  // namespace thalweg::testing
