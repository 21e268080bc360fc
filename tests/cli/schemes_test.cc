// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

TEST(SchemesCommand, ListsAllWithTheirAxesAndOptions) {
  const auto report = json_of(run_program({"schemes", "--json"}));
  EXPECT_GE(report["schemes"].size(), 12U);
  for (const auto& scheme : report["schemes"]) {
    for (const char* key :
         {"name", "parallel", "optimisation", "schedule", "exchange", "description", "promise", "when"}) {
      EXPECT_NE(scheme[key].get<std::string>(), "") << scheme["name"] << " " << key;
    }
  }
  EXPECT_GE(report["compressions"].size(), 9U);
  const ProcessResult text = run_program({"schemes"});
  EXPECT_THAT(text.out, HasSubstr("localsgd  (data parallel, decentral, synchronous, all-reduce)"));
  EXPECT_THAT(text.out, HasSubstr("powersgd"));
}

TEST(SchemesCommand, TellsOfOneItsOwnDefaults) {
  const ProcessResult one = run_program({"schemes", "diloco"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("period = 500"));
  EXPECT_THAT(one.out, HasSubstr("outer_rate = 0.7"));
  const ProcessResult unknown = run_program({"schemes", "magic"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("there is no scheme 'magic'; there are: allreduce"));
}

}  // namespace
}  // namespace thalweg::testing
