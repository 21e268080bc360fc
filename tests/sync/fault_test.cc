// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Real processes are killed, stopped and cut off while they train.
#include "sync/fault_worker.h"

namespace thalweg::testing {
namespace {

TEST_F(FaultTest, KilledWorkersAreReplaced) {
  begin({});
  for (const int64_t at : {8, 22}) {
    wait_for_step(at);
    const uint64_t epoch = rendezvous_->state().epoch;
    const size_t victim = random_() % workers_.size();
    workers_[victim].kill();
    workers_.erase(workers_.begin() + static_cast<int64_t>(victim));
    EXPECT_LT(seconds_until_epoch(epoch + 1), 5) << "recovery";
    add_worker();
  }
  expect_undisturbed_result();
}

TEST_F(FaultTest, ASecondLossDuringRecovery) {
  begin({.path = comm::Path::kTcp});
  wait_for_step(10);
  workers_.pop_back();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  workers_.pop_back();
  expect_undisturbed_result();
}

TEST_F(FaultTest, AWorkerThatIsStoppedIsDoneWithoutAndComesBack) {
  begin({.workers = 2, .steps = 200});
  wait_for_step(10);
  const uint64_t epoch = rendezvous_->state().epoch;
  workers_[0].signal(SIGSTOP);
  EXPECT_LT(seconds_until_epoch(epoch + 1), 5) << "until it was missed";
  wait_for_step(step() + 3);
  workers_[0].signal(SIGCONT);
  EXPECT_LT(seconds_until_epoch(epoch + 2), 5) << "until it was back";
  expect_undisturbed_result();
}

TEST_F(FaultTest, ConnectionsThatBreakBetweenWorkersThatLive) {
  begin({.path = comm::Path::kTcp, .reset_at = 12});
  expect_undisturbed_result();
  EXPECT_GE(rendezvous_->state().epoch, 2U);
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
