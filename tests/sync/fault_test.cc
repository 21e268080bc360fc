// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Real processes are killed, stopped and cut off while they train.
#include "sync/fault_worker.h"

namespace thalweg::testing {
namespace {

/// In seconds: what a group may take to finish a step after a fault.
constexpr double kRecovery = 5;
/// To notice that a process has ended, which its connection tells at once; and that one is silent, which takes the 2 s
/// that it may be, and what a busy machine adds.
constexpr double kNoticeEnd = 2, kNoticeSilence = 3;

class AnyScheme : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Faults, AnyScheme, ::testing::Values("allreduce", "sharded"),
                         [](const auto& test) { return std::string(test.param); });

/// For what takes long because it has to wait: both at the same time.
void in_both_schemes(const std::function<void(const std::string&)>& scenario) {
  std::vector<std::future<void>> pending;
  for (const char* scheme : {"allreduce", "sharded"}) {
    pending.push_back(std::async(std::launch::async, [&scenario, scheme] {
      SCOPED_TRACE(scheme);
      scenario(scheme);
    }));
  }
  for (auto& entry : pending) entry.get();
}

TEST_P(AnyScheme, TwentyWorkersAreKilledOverOneRun) {
  constexpr int64_t kStepsEach = 40;
  FaultRun run({.steps = 21 * kStepsEach, .pause_ms = 8, .short_handed_pause_ms = 60, .scheme = GetParam()});
  run.begin();
  std::mt19937 random{12};
  double slowest_notice = 0, slowest_recovery = 0;
  for (int64_t kills = 0; kills < 20; ++kills) {
    // Whoever was killed before has a successor by now.
    run.wait_for_size(3);
    run.wait_for_step(kills * kStepsEach + static_cast<int64_t>(random() % 25));
    const auto begin = FaultClock::now();
    const size_t victim = random() % run.workers().size();
    run.workers()[victim].kill();
    run.workers().erase(run.workers().begin() + static_cast<int64_t>(victim));
    run.wait_for_recovery();
    slowest_recovery = std::max(slowest_recovery, seconds_since(begin));
    slowest_notice = std::max(slowest_notice, run.seconds_until_noticed(begin));
    run.add_worker();
  }
  EXPECT_LT(slowest_notice, kNoticeEnd);
  EXPECT_LT(slowest_recovery, kRecovery);
  RecordProperty("longest_recovery_seconds", std::to_string(slowest_recovery));
  run.expect_undisturbed_result();
}

/// Kills one of four workers, and another when the rendezvous says `text`, before anybody is told of that.
void lose_a_second_one(const std::string& scheme, const std::string& text, const std::string& expected_then) {
  std::atomic<bool> first_is_killed{false}, second_is_killed{false};
  FaultRun run({.workers = 4, .path = comm::Path::kTcp, .scheme = scheme, .copies = 2});
  run.on_log = [&](const std::string& line) {
    if (!first_is_killed || second_is_killed || line.find(text) == std::string::npos) return;
    run.workers()[2].kill();
    second_is_killed = true;
  };
  run.begin();
  run.wait_for_size(4);
  run.wait_for_step(10);
  const auto begin = FaultClock::now();
  first_is_killed = true;
  run.workers()[3].kill();
  ASSERT_TRUE(comes_true([&] { return second_is_killed.load(); }));
  run.wait_for_recovery();
  EXPECT_LT(seconds_since(begin), kRecovery);
  EXPECT_TRUE(run.logged(expected_then));
  run.workers().erase(run.workers().begin() + 2, run.workers().end());
  run.expect_undisturbed_result();
}

TEST_P(AnyScheme, ASecondLossBeforeTheSurvivorsAreToldOfTheFirst) {
  // One recovery from both, or two if the second one had seen by itself that the first is gone, and said so before it
  // was killed.
  lose_a_second_one(GetParam(), "is lost", " has 2 members");
}

TEST_P(AnyScheme, ASecondLossWhileTheSurvivorsConnect) {
  lose_a_second_one(GetParam(), "epoch 2 has 3 members", "epoch 3 has 2 members");
}

TEST_P(AnyScheme, AConnectionIsResetInTheMiddleOfACollective) {
  FaultRun run({.pause_ms = 5, .path = comm::Path::kTcp, .reset_at = 5, .scheme = GetParam(), .hidden = 1 << 16});
  run.begin();
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(run.folder() / "reset"); })) << "no exchange was seen";
  const auto begin = FaultClock::now();
  run.wait_for_recovery();
  EXPECT_LT(seconds_since(begin), kRecovery);
  EXPECT_TRUE(run.logged("Connection reset by peer"));
  EXPECT_FALSE(run.logged("is lost")) << "the workers themselves live";
  EXPECT_GE(run.epoch(), 2U);
  run.expect_undisturbed_result();
}

TEST_P(AnyScheme, AWorkerThatIsStoppedIsDoneWithoutAndComesBack) {
  FaultRun run({.workers = 2, .steps = 200, .scheme = GetParam()});
  run.begin();
  run.wait_for_step(10);
  const uint64_t epoch = run.epoch();
  const auto stopped = FaultClock::now();
  run.workers()[0].signal(SIGSTOP);
  run.wait_for_recovery();
  EXPECT_LT(seconds_since(stopped), kRecovery) << "until the other went on";
  EXPECT_LT(run.seconds_until_noticed(stopped), kNoticeSilence);
  const auto continued = FaultClock::now();
  run.workers()[0].signal(SIGCONT);
  run.wait_for_epoch(epoch + 2);
  run.wait_for_recovery();
  EXPECT_LT(seconds_since(continued), kRecovery) << "until it was back";
  run.expect_undisturbed_result();
}

TEST(Faults, AWorkerIsStoppedForTenSeconds) {
  in_both_schemes([](const std::string& scheme) {
    FaultRun run({.steps = 700, .scheme = scheme});
    run.begin();
    run.wait_for_step(20);
    const uint64_t epoch = run.epoch();
    const auto stopped = FaultClock::now();
    run.workers()[1].signal(SIGSTOP);
    run.wait_for_recovery();
    EXPECT_LT(seconds_since(stopped), kRecovery) << "until the others went on";
    EXPECT_LT(run.seconds_until_noticed(stopped), kNoticeSilence);
    std::this_thread::sleep_until(stopped + std::chrono::seconds(10));
    const auto continued = FaultClock::now();
    run.workers()[1].signal(SIGCONT);
    run.wait_for_epoch(epoch + 2);
    run.wait_for_recovery();
    EXPECT_LT(seconds_since(continued), kRecovery) << "until it was back";
    run.expect_undisturbed_result();
  });
}

TEST(Faults, TheRendezvousIsRestarted) {
  in_both_schemes([](const std::string& scheme) {
    FaultRun run({.steps = 200, .scheme = scheme});
    run.begin();
    run.wait_for_step(10);
    const uint64_t epoch = run.epoch();
    // Nobody waits for it.
    run.restart_rendezvous([&] { run.wait_for_recovery(); });
    const auto back = FaultClock::now();
    run.wait_for_epoch(epoch);
    EXPECT_LT(seconds_since(back), kRecovery) << "until the members were back";
    run.wait_for_step(run.step() + 10);
    const auto begin = FaultClock::now();
    run.workers().pop_back();
    run.wait_for_recovery();
    EXPECT_LT(seconds_since(begin), kRecovery);
    EXPECT_LT(run.seconds_until_noticed(begin), kNoticeEnd);
    EXPECT_EQ(run.epoch(), epoch + 1);
    run.expect_undisturbed_result();
  });
}

TEST_P(AnyScheme, IfAllAreKilledTheNewestCheckpointServes) {
  FaultRun run({.scheme = GetParam(), .checkpoints = 5});
  run.begin();
  run.wait_for_step(23);
  run.workers().clear();
  const int64_t last = run.step();
  // The launcher is gone as well, and the next one has fewer workers.
  run.restart_rendezvous([] {});
  for (int i = 0; i < 2; ++i) run.add_worker();
  run.expect_undisturbed_result();
  int64_t first = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run.folder().path())) {
    int64_t at = 0;
    if (entry.path().extension() == ".first") std::ifstream(entry.path()) >> at;
    first = std::max(first, at);
  }
  EXPECT_GT(first, last - 10) << "they did not go on from the newest checkpoint";
  EXPECT_LE(first, last + 1);
}

}  // namespace
}  // namespace thalweg::testing
