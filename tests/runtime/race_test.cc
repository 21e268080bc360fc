// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"

namespace thalweg::testing {
namespace {

/// What became of a candidate that says how long it took.
struct Seen {
  int runs = 0;
  int left = 0;
};

TuningCandidate pretend(const std::string& name, double seconds, Seen& seen, const std::string& variant_of = "") {
  const auto run = [&seen, seconds] {
    EXPECT_EQ(seen.left, 0) << "runs after it has left";
    ++seen.runs;
    return seconds;
  };
  return {name, run, [&seen] { ++seen.left; }, variant_of};
}

std::string finish(Race& race) {
  while (!race.over()) race.advance();
  return race.winner();
}

TEST(Race, LosersLeaveAndTheLastOneNeedNotRunOn) {
  Seen direct, slow, quick;
  Race race({pretend("direct", 1.0, direct), pretend("slow", 1.6, slow), pretend("quick", 0.1, quick)});
  EXPECT_EQ(finish(race), "quick");
  EXPECT_EQ(direct.runs, 1);
  EXPECT_EQ(direct.left, 1);
  EXPECT_EQ(slow.left, 1);
  EXPECT_EQ(quick.left, 0);
}

TEST(Race, VariationsEnterOnlyWhereTheyMayWin) {
  Seen direct, good, better, bad, worse;
  Race race({pretend("direct", 1.0, direct), pretend("good", 0.7, good), pretend("better", 0.6, better, "good"),
             pretend("bad", 1.5, bad), pretend("worse", 1.4, worse, "bad")});
  EXPECT_EQ(finish(race), "better");
  EXPECT_EQ(worse.runs, 0);
  EXPECT_EQ(worse.left, 1);
  EXPECT_GT(better.runs, 0);
}

TEST(Race, OneAloneWinsWithoutRunning) {
  Seen alone;
  Race race({pretend("direct", 1.0, alone)});
  EXPECT_TRUE(race.over());
  EXPECT_EQ(race.winner(), "direct");
  EXPECT_EQ(alone.runs, 0);
  EXPECT_THAT(error_text([&] { race.advance(); }), ::testing::HasSubstr("over"));
  EXPECT_THAT(error_text([] { Race nobody({}); }), ::testing::HasSubstr("somebody"));
}

TEST(Race, EndsWhereNobodyIsClearlyFaster) {
  Seen direct, equal;
  Race race({pretend("direct", 1e-4, direct), pretend("equal", 0.99e-4, equal)});
  EXPECT_EQ(finish(race), "direct");
  EXPECT_LE(direct.runs + equal.runs, 100);
}

}  // namespace
}  // namespace thalweg::testing
