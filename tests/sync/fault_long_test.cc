// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// As fault_test.cc, for longer.
#include "sync/fault_worker.h"

namespace thalweg::testing {
namespace {

TEST_F(FaultTest, TwentyWorkersAreKilledOverOneRun) {
  begin({.steps = 20 * 40 + 60, .pause_ms = 15});
  double longest = 0;
  for (int64_t kills = 0; kills < 20; ++kills) {
    wait_for_step(kills * 40 + 5 + static_cast<int64_t>(random_() % 25));
    const uint64_t epoch = rendezvous_->state().epoch;
    const size_t victim = random_() % workers_.size();
    workers_[victim].kill();
    workers_.erase(workers_.begin() + static_cast<int64_t>(victim));
    const double seconds = seconds_until_epoch(epoch + 1);
    EXPECT_LT(seconds, 5) << "recovery";
    longest = std::max(longest, seconds);
    add_worker();
  }
  RecordProperty("longest_recovery_seconds", std::to_string(longest));
  expect_undisturbed_result();
}

TEST_F(FaultTest, AWorkerIsStoppedForTenSeconds) {
  begin({.steps = 800});
  wait_for_step(20);
  const uint64_t epoch = rendezvous_->state().epoch;
  workers_[1].signal(SIGSTOP);
  EXPECT_LT(seconds_until_epoch(epoch + 1), 5) << "until it was missed";
  std::this_thread::sleep_for(std::chrono::seconds(10));
  workers_[1].signal(SIGCONT);
  EXPECT_LT(seconds_until_epoch(epoch + 2), 5) << "until it was back";
  expect_undisturbed_result();
}

}  // namespace
}  // namespace thalweg::testing
