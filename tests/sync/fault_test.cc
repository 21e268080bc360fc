// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Real processes are killed, stopped and cut off while they train.
#include "sync/fault_worker.h"

namespace thalweg::testing {
namespace {

/// Short, so that a worker that is stopped is soon known to be. One that a busy machine keeps waiting for longer counts
/// as lost too, and comes back.
constexpr std::chrono::milliseconds kSilence{1900};

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
  for (int64_t kills = 0; kills < 20; ++kills) {
    // Whoever was killed before has a successor by now.
    run.wait_for_size(3);
    run.let_run_to((kills + 1) * kStepsEach);
    run.wait_for_step(kills * kStepsEach + static_cast<int64_t>(random() % 25));
    const auto begin = FaultClock::now();
    const size_t victim = random() % run.workers().size();
    run.workers()[victim].kill();
    run.workers().erase(run.workers().begin() + static_cast<int64_t>(victim));
    run.wait_for_recovery();
    run.wait_for_notice(begin);
    run.add_worker();
  }
  run.wait_for_size(3);
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
  first_is_killed = true;
  run.workers()[3].kill();
  ASSERT_TRUE(eventually([&] { return second_is_killed.load(); }));
  run.wait_for_recovery();
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
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(run.folder() / "reset"); })) << "no exchange was seen";
  run.wait_for_recovery();
  EXPECT_TRUE(run.logged("Connection reset by peer"));
  EXPECT_FALSE(run.logged("is lost")) << "the workers themselves live";
  EXPECT_GE(run.epoch(), 2U);
  run.expect_undisturbed_result();
}

TEST_P(AnyScheme, AWorkerThatIsStoppedIsDoneWithoutAndComesBack) {
  FaultRun run({.workers = 2, .steps = 200, .scheme = GetParam(), .silence = kSilence});
  run.begin();
  run.wait_for_step(10);
  const uint64_t epoch = run.epoch();
  const auto stopped = FaultClock::now();
  run.workers()[0].signal(SIGSTOP);
  run.wait_for_recovery();
  run.wait_for_notice(stopped);
  run.workers()[0].signal(SIGCONT);
  run.wait_for_epoch(epoch + 2);
  run.wait_for_size(2);
  run.wait_for_recovery();
  run.expect_undisturbed_result();
}

TEST(Faults, AWorkerIsStoppedWhileTheOthersMakeAHundredSteps) {
  in_both_schemes([](const std::string& scheme) {
    FaultRun run({.steps = 400, .scheme = scheme, .silence = kSilence});
    run.begin();
    run.wait_for_step(20);
    const uint64_t epoch = run.epoch();
    const auto stopped = FaultClock::now();
    run.workers()[1].signal(SIGSTOP);
    run.wait_for_recovery();
    run.wait_for_notice(stopped);
    run.wait_for_step(run.step() + 100);
    run.workers()[1].signal(SIGCONT);
    run.wait_for_epoch(epoch + 2);
    run.wait_for_size(3);
    run.wait_for_recovery();
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
    const auto restarted = FaultClock::now();
    run.restart_rendezvous([&] { run.wait_for_recovery(); }, 3);
    run.wait_for_return(restarted, 3);
    run.wait_for_epoch(epoch);
    EXPECT_EQ(run.epoch(), epoch);
    run.wait_for_step(run.step() + 10);
    const auto begin = FaultClock::now();
    run.workers().pop_back();
    run.wait_for_recovery();
    run.wait_for_notice(begin);
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
  run.restart_rendezvous([] {}, 2);
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
