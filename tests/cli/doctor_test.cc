// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/threads.h"
#include "cli/program.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

TEST(Doctor, TellsWhatTheMachineOffers) {
  const auto report = json_of(run_program({"doctor", "--json"}));
  EXPECT_EQ(report["threads"]["used"], available_processors());
  EXPECT_NE(report["cpu"]["model"], "");
  EXPECT_FALSE(report["cpu"]["features"].empty());
  EXPECT_TRUE(report["precision"]["bf16"]["native"].is_boolean());
  EXPECT_EQ(report["versions"]["onednn"].get<std::string>().substr(0, 2), "3.");
  EXPECT_NE(report["versions"]["arrow"], "");
  EXPECT_GT(report["memory"]["total_bytes"], 0);
  const ProcessResult text = run_program({"doctor"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr(report["cpu"]["model"].get<std::string>()));
}

TEST(Doctor, NamesSettingsThatHurt) {
  const auto report =
      json_of(run_program({"doctor", "--json"}, {"OMP_NUM_THREADS=1", "ONEDNN_VERBOSE=error", "THALWEG_ISA=baseline"}));
  EXPECT_EQ(report["kernels"]["own"], "baseline");
  std::string about;
  for (const auto& advice : report["advice"]) about += advice["about"].get<std::string>() + "\n";
  for (const char* variable : {"OMP_NUM_THREADS=1", "ONEDNN_VERBOSE=error", "THALWEG_ISA=baseline"}) {
    EXPECT_THAT(about, HasSubstr(variable));
  }
}

}  // namespace
}  // namespace thalweg::testing
