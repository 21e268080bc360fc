// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/restarts.h"

#include <gtest/gtest.h>

#include <csignal>

namespace thalweg::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

/// As waitpid says it.
constexpr int kEndedWithOne = 1 << 8;
constexpr int kKilled = SIGKILL;

/// Fails at `now`, after `lasted`, in an epoch of the group.
bool fail(cli::FutileAttempts& attempts, int now, int lasted, uint64_t epoch, int status = kEndedWithOne) {
  return attempts.after_failure({status, true, seconds(lasted), epoch}, Clock::time_point(seconds(now + 1000)));
}

TEST(FutileAttempts, ThreeInARowThatComeNoFurtherAreEnough) {
  cli::FutileAttempts attempts;
  attempts.note_step(12);
  EXPECT_FALSE(fail(attempts, 10, 10, 1));
  attempts.note_step(5);
  EXPECT_FALSE(fail(attempts, 20, 9, 2));
  attempts.note_step(12);
  EXPECT_TRUE(fail(attempts, 30, 9, 3));
  EXPECT_EQ(attempts.count(), 3);
  EXPECT_EQ(attempts.furthest_step(), 12);
}

TEST(FutileAttempts, WhoComesFurtherThanEverMayTryAgain) {
  cli::FutileAttempts attempts;
  for (int i = 1; i < 50; ++i) {
    attempts.note_step(i);
    EXPECT_FALSE(fail(attempts, 10 * i, 9, static_cast<uint64_t>(i)));
  }
}

TEST(FutileAttempts, WorkersThatFailTogetherMakeOne) {
  cli::FutileAttempts attempts;
  attempts.note_step(3);
  for (int worker = 0; worker < 8; ++worker) EXPECT_FALSE(fail(attempts, 10, 10, 1));
  for (int worker = 0; worker < 8; ++worker) EXPECT_FALSE(fail(attempts, 20, 9, 1));
  EXPECT_TRUE(fail(attempts, 30, 9, 1));
}

TEST(FutileAttempts, OthersThatMeetTheErrorWithoutTheFirstMakeMore) {
  cli::FutileAttempts attempts;
  attempts.note_step(3);
  EXPECT_FALSE(fail(attempts, 10, 10, 1));
  EXPECT_FALSE(fail(attempts, 11, 11, 2));
  EXPECT_TRUE(fail(attempts, 12, 12, 3));
}

TEST(FutileAttempts, BeingKilledIsNoError) {
  cli::FutileAttempts attempts;
  attempts.note_step(3);
  for (int i = 1; i < 50; ++i) EXPECT_FALSE(fail(attempts, 10 * i, 9, static_cast<uint64_t>(i), kKilled));
  EXPECT_FALSE(fail(attempts, 1000, 9, 50));
  EXPECT_FALSE(fail(attempts, 1010, 9, 51));
  EXPECT_FALSE(fail(attempts, 1020, 9, 52, kKilled));
  EXPECT_FALSE(fail(attempts, 1030, 9, 53));
}

TEST(FutileAttempts, ProgramsThatTellNoStepsMayFailAfterAWhile) {
  cli::FutileAttempts attempts;
  for (int i = 1; i < 50; ++i) EXPECT_FALSE(fail(attempts, 100 * i, 61, static_cast<uint64_t>(i)));
  EXPECT_FALSE(fail(attempts, 10'000, 2, 60));
  EXPECT_TRUE(fail(attempts, 10'010, 2, 61));
}

}  // namespace
}  // namespace thalweg::testing
