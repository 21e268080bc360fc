// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

TEST(GroupProgress, LaunchShowsOneLineForTheGroup) {
  const ProcessResult run = run_program({"launch", "-n", "2", "--", TW_GROUP_EXAMPLE});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.error, HasSubstr("2 workers  step "));
  EXPECT_THAT(run.error, HasSubstr("samples/s  waiting for data "));
}

}  // namespace
}  // namespace thalweg::testing
