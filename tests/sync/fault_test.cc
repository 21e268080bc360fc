// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Real processes are killed, stopped and cut off while they train.
#include "sync/fault_worker.h"

namespace thalweg::testing {
namespace {

class AnyScheme : public FaultTest, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Faults, AnyScheme, ::testing::Values("allreduce", "sharded"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(AnyScheme, TwentyWorkersAreKilledOverOneRun) {
  constexpr int64_t kStepsEach = 40;
  begin({.steps = 21 * kStepsEach, .pause_ms = 8, .scheme = GetParam()});
  double longest = 0;
  for (int64_t kills = 0; kills < 20; ++kills) {
    // Whoever was killed before has a successor by now.
    wait_for_size(3);
    wait_for_step(kills * kStepsEach + static_cast<int64_t>(random_() % 25));
    longest = std::max(longest, kill_one());
    add_worker();
  }
  EXPECT_LT(longest, 5) << "seconds to recover";
  RecordProperty("longest_recovery_seconds", std::to_string(longest));
  expect_undisturbed_result();
}

TEST_P(AnyScheme, ASecondLossDuringRecovery) {
  begin({.workers = 4, .path = comm::Path::kTcp, .scheme = GetParam(), .copies = 2});
  wait_for_step(10);
  workers_.pop_back();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  workers_.pop_back();
  expect_undisturbed_result();
}

TEST_P(AnyScheme, ConnectionsThatBreakBetweenWorkersThatLive) {
  begin({.path = comm::Path::kTcp, .reset_at = 12, .scheme = GetParam()});
  expect_undisturbed_result();
  EXPECT_GE(rendezvous_->state().epoch, 2U);
}

TEST_P(AnyScheme, AWorkerThatIsStoppedIsDoneWithoutAndComesBack) {
  begin({.workers = 2, .steps = 200, .scheme = GetParam()});
  wait_for_step(10);
  const uint64_t epoch = rendezvous_->state().epoch;
  workers_[0].signal(SIGSTOP);
  EXPECT_LT(seconds_until_epoch(epoch + 1), 5) << "until it was missed";
  wait_for_step(step() + 3);
  workers_[0].signal(SIGCONT);
  EXPECT_LT(seconds_until_epoch(epoch + 2), 5) << "until it was back";
  expect_undisturbed_result();
}

TEST_F(FaultTest, AWorkerIsStoppedForTenSeconds) {
  begin({.steps = 700});
  wait_for_step(20);
  const uint64_t epoch = rendezvous_->state().epoch;
  workers_[1].signal(SIGSTOP);
  EXPECT_LT(seconds_until_epoch(epoch + 1), 5) << "until it was missed";
  std::this_thread::sleep_for(std::chrono::seconds(8));
  workers_[1].signal(SIGCONT);
  EXPECT_LT(seconds_until_epoch(epoch + 2), 5) << "until it was back";
  expect_undisturbed_result();
}

TEST_F(FaultTest, TheRendezvousIsRestarted) {
  begin({.steps = 100});
  wait_for_step(10);
  comm::RendezvousOptions options = rendezvous_options();
  options.address = rendezvous_->address();
  const uint64_t epoch = rendezvous_->state().epoch;
  rendezvous_.reset();
  wait_for_step(step() + 3);
  rendezvous_ = std::make_unique<comm::Rendezvous>(options);
  EXPECT_LT(seconds_until_epoch(epoch), 5) << "until the members were back";
  wait_for_step(step() + 10);
  workers_.pop_back();
  EXPECT_LT(seconds_until_epoch(epoch + 1), 5) << "recovery";
  expect_undisturbed_result();
}

}  // namespace
}  // namespace thalweg::testing
