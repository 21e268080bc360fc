// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/parameter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "sync/plain_trainee.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr size_t kOneBucket = std::numeric_limits<size_t>::max();

/// A member of a group to which newcomers may come whenever a test wants them.
class Hospitable : public comm::Group {
 public:
  explicit Hospitable(std::unique_ptr<comm::Group> group) : group_(std::move(group)) {}
  std::atomic<bool> newcomers{false};

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  uint64_t epoch() const override { return group_->epoch(); }
  std::vector<std::string> names() const override { return group_->names(); }
  comm::Communicator& communicator() override { return group_->communicator(); }
  bool newcomers_waiting() const override { return newcomers; }
  void next_epoch(const std::string& failure) override { group_->next_epoch(failure); }
  void set_status(const std::string& status) override { group_->set_status(status); }
  void fail(const std::string& why) override { group_->fail(why); }
  void finish() override { group_->finish(); }
  bool hands_over() override { return group_->hands_over(); }
  void handed_over() override { group_->handed_over(); }

 private:
  std::unique_ptr<comm::Group> group_;
};

/// How servers and workers go together.
struct Kind {
  int64_t staleness = sync::kUnbounded;
  bool in_steps = false;
  int backup = 0;
  int copies = 0;
  double filter = 0;
};

/// A worker whose thread that trains is the test's.
struct Worker {
  explicit Worker(std::unique_ptr<comm::Group> joined, const Kind& kind)
      : group(std::move(joined)),
        gradients(trainee.trained(), kOneBucket),
        server(group, trainee, {kind.staleness, kind.in_steps, kind.backup, kind.copies, kind.filter, codes, sparse},
               {}) {}

  void make_step() {
    gradients.begin_step();
    std::vector<float> ones(100, 1.0F);
    gradients.add({trainee.variables().index("parameter0"), ones.data(), ones.size(), nullptr, nullptr, 0}, 1.0);
    server.push(gradients, {}, 1.0);
  }

  Hospitable group;
  PlainTrainee trainee{{100, 7}};
  sync::GradientBuckets gradients;
  sync::ServedCodes codes{nullptr};
  sync::SparseExchange sparse{DType::kF32};
  sync::ParameterServer server;
};

/// Members by rank, each with its name.
std::vector<std::unique_ptr<comm::Group>> join_all(const comm::Rendezvous& rendezvous, int size) {
  std::vector<std::future<std::unique_ptr<comm::Group>>> pending;
  for (int i = 0; i < size; ++i) {
    comm::GroupOptions options = member_of(rendezvous.address());
    options.seat = i;
    options.name = "the worker of seat " + std::to_string(i);
    pending.push_back(std::async(std::launch::async, [options] { return comm::Group::join(options); }));
  }
  std::vector<std::unique_ptr<comm::Group>> members;
  for (auto& member : pending) members.push_back(member.get());
  return members;
}

class ParameterServers : public ::testing::Test {
 protected:
  void start(int size, const Kind& kind = {}) {
    rendezvous_ = std::make_unique<comm::Rendezvous>(quiet_rendezvous(size, size));
    for (auto& member : join_all(*rendezvous_, size))
      workers_.push_back(std::make_unique<Worker>(std::move(member), kind));
  }
  Worker& worker(size_t rank) { return *workers_[rank]; }

  std::unique_ptr<comm::Rendezvous> rendezvous_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

TEST_F(ParameterServers, AskOnlyAtTheStartForWhatTheTrainerMayReplace) {
  start(1);
  worker(0).make_step();
  ASSERT_TRUE(worker(0).server.begin_snapshot(patience()).ok());
  EXPECT_NE(worker(0).trainee.updater().slots(0)[0].values[0], 0) << "the step had no effect";
  worker(0).server.end_snapshot();
  ASSERT_TRUE(worker(0).server.finish(patience()).ok());
  EXPECT_EQ(worker(0).trainee.asked_by_others(), 0);
}

TEST_F(ParameterServers, TakeNoSnapshotOnceTheyHaveEndedForANewcomer) {
  start(1);
  worker(0).group.newcomers = true;
  worker(0).server.look_for_newcomers();
  ASSERT_TRUE(eventually([&] { return worker(0).server.admits(); }));
  const comm::Status status = worker(0).server.begin_snapshot(patience());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().kind, comm::FailureKind::kGroupChanged);
}

TEST_F(ParameterServers, AnErrorOfTheirThreadReachesTheOneThatTrains) {
  start(1);
  worker(0).trainee.updater_fails = true;
  worker(0).make_step();
  sync::ParameterServer& server = worker(0).server;
  EXPECT_THAT(error_text([&] { (void)server.finish(patience()); }), HasSubstr("injected"));
  EXPECT_THAT(error_text([&] { (void)server.failure(); }), HasSubstr("injected"));
  EXPECT_THAT(error_text([&] { (void)server.begin_snapshot(patience()); }), HasSubstr("injected"));
  EXPECT_THAT(error_text([&] { (void)server.wait_for_others(0, patience()); }), HasSubstr("injected"));
}

TEST_F(ParameterServers, TheOthersNoticeAWorkerThatEndsWithAnError) {
  start(2);
  worker(1).trainee.updater_fails = true;
  worker(1).make_step();
  EXPECT_THAT(error_text([&] { (void)worker(1).server.finish(patience()); }), HasSubstr("injected"));
  workers_.pop_back();
  EXPECT_FALSE(worker(0).server.finish(patience()).ok());
}

TEST_F(ParameterServers, DoNotWaitForEverForAWorkerThatLivesButHangs) {
  start(2);
  worker(1).make_step();
  const comm::Status status = worker(0).server.finish(300ms);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().kind, comm::FailureKind::kTimeout);
  EXPECT_EQ(status.failure().peer, 1);
  EXPECT_THAT(status.failure().text(), HasSubstr("the worker of seat 1 is alive but takes no more steps"));
}

TEST_F(ParameterServers, WaitForAWorkerThatIsSlowAsLongAsItMakesSteps) {
  // A machine that keeps a thread from running for longer than this makes the slow worker one that hangs.
  constexpr auto kStepless = 2s;
  EXPECT_TRUE(in_some_attempt([&] {
    workers_.clear();
    start(2);
    auto fast = std::async(std::launch::async, [&] { return worker(0).server.finish(kStepless); });
    const auto end = std::chrono::steady_clock::now() + kStepless + 1s;
    while (std::chrono::steady_clock::now() < end) {
      worker(1).make_step();
      std::this_thread::sleep_for(20ms);
    }
    const bool ended = worker(1).server.finish(patience()).ok();
    return fast.get().ok() && ended;
  }));
}

TEST_F(ParameterServers, AnswerWhoIsNotTooFarAhead) {
  start(2, {.staleness = 2});
  for (int step = 1; step <= 3; ++step) worker(0).make_step();
  // Two steps ahead of one that has made none is allowed, three are not.
  EXPECT_EQ(worker(0).server.wait_for_others(2, 200ms).failure().kind, comm::FailureKind::kTimeout);
  EXPECT_TRUE(worker(0).server.wait_for_others(3, patience()).ok());
  worker(1).make_step();
  EXPECT_TRUE(worker(0).server.wait_for_others(2, patience()).ok());
}

TEST_F(ParameterServers, NobodyWaitsForAWorkerThatMakesNoSteps) {
  start(3);
  for (int step = 1; step <= 5; ++step) {
    worker(0).make_step();
    ASSERT_TRUE(worker(0).server.wait_for_own(patience()).ok()) << step;
  }
  worker(0).server.pull(worker(0).trainee);
  // Five gradients of one: velocity and weight after them.
  double velocity = 0, weight = 0;
  for (int step = 0; step < 5; ++step) {
    velocity = 0.9 * velocity + 1;
    weight -= 0.1 * velocity;
  }
  const auto* values = static_cast<const float*>(worker(0).trainee.variables().data(0));
  for (int i = 0; i < 100; ++i) EXPECT_NEAR(values[i], weight, 1e-5) << i;
}

TEST_F(ParameterServers, OneThatStandsStillHoldsUpOnlyWhatItServes) {
  start(3);
  // Nothing that the third serves is updated until this ends.
  ASSERT_TRUE(worker(2).server.begin_snapshot(patience()).ok());
  for (int step = 1; step <= 10; ++step) worker(0).make_step();
  const auto* values = static_cast<const float*>(worker(0).trainee.variables().data(0));
  EXPECT_TRUE(eventually([&] {
    worker(0).server.pull(worker(0).trainee);
    return values[0] != 0 && values[50] != 0;
  }));
  EXPECT_EQ(values[99], 0) << "of the last part";
  const comm::Status late = worker(0).server.wait_for_own(200ms);
  EXPECT_THAT(late.failure().text(), HasSubstr("the worker of seat 2 has not answered"));
  worker(2).server.end_snapshot();
  // Steps that have gathered meanwhile go together.
  EXPECT_TRUE(worker(0).server.wait_for_own(patience()).ok());
  worker(0).server.pull(worker(0).trainee);
  EXPECT_NE(values[99], 0);
}

TEST_F(ParameterServers, StepsOfAllEndTogether) {
  start(3, {.staleness = 0, .in_steps = true});
  worker(0).make_step();
  worker(1).make_step();
  EXPECT_EQ(worker(0).server.wait_for_own(200ms).failure().kind, comm::FailureKind::kTimeout);
  worker(2).make_step();
  for (size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(worker(rank).server.wait_for_own(patience()).ok());
}

TEST_F(ParameterServers, WhatALostServerHadLivesOnInItsCopy) {
  start(3, {.copies = 1});
  for (int step = 1; step <= 4; ++step) {
    worker(0).make_step();
    worker(1).make_step();
    ASSERT_TRUE(worker(0).server.wait_for_own(patience()).ok());
    ASSERT_TRUE(worker(1).server.wait_for_own(patience()).ok());
  }
  // Elements 0 to 35 of 107 are the first part, of which the second worker has a copy.
  const std::span<const float> momentum = worker(0).trainee.updater().slots(0)[0].values,
                               copied = worker(1).trainee.updater().slots(0)[0].values;
  const std::vector<float> lost = worker(0).server.stop().weights.at(0);
  const auto others = worker(1).server.stop();
  EXPECT_EQ(others.weights.at(0), lost);
  EXPECT_EQ(others.place.copies, 1);
  EXPECT_TRUE(others.place.holds(0) && others.place.holds(1) && !others.place.holds(2));
  for (size_t i = 0; i < lost.size(); ++i) {
    EXPECT_LT(lost[i], -0.5) << "four steps of two workers";
    EXPECT_EQ(momentum[i], copied[i]) << i;
  }
}

TEST_F(ParameterServers, WhatHasHardlyMovedIsNotSentAgain) {
  const auto bytes_received = [&](double filter) {
    workers_.clear();
    start(2, {.filter = filter});
    for (int step = 1; step <= 30; ++step) {
      worker(0).make_step();
      EXPECT_TRUE(worker(0).server.wait_for_own(patience()).ok());
    }
    worker(0).server.pull(worker(0).trainee);
    const auto* values = static_cast<const float*>(worker(0).trainee.variables().data(0));
    // Thirty gradients of one, with momentum 0.9 and rate 0.1.
    EXPECT_NEAR(values[70], -21.4, 21.4 * (filter + 0.03));
    return worker(0).group.communicator().traffic().received_bytes;
  };
  const uint64_t all = bytes_received(0), some = bytes_received(0.2);
  EXPECT_LT(static_cast<double>(some), 0.8 * static_cast<double>(all));
}

TEST_F(ParameterServers, WithABackupWorkerTheLastGradientIsDroppedAndCounted) {
  start(3, {.staleness = 0, .in_steps = true, .backup = 1});
  // One of three stands still.
  for (int step = 1; step <= 4; ++step) {
    for (const size_t rank : {0, 1}) worker(rank).make_step();
    for (const size_t rank : {0, 1}) ASSERT_TRUE(worker(rank).server.wait_for_own(patience()).ok()) << step;
  }
  worker(0).server.pull(worker(0).trainee);
  const auto* values = static_cast<const float*>(worker(0).trainee.variables().data(0));
  const float before = values[0];
  EXPECT_LT(before, 0);
  // What it brings now belongs to a step that all have left behind.
  worker(2).make_step();
  ASSERT_TRUE(worker(2).server.wait_for_own(patience()).ok());
  EXPECT_EQ(worker(0).server.dropped() + worker(1).server.dropped() + worker(2).server.dropped(), 3);
  worker(2).server.pull(worker(2).trainee);
  EXPECT_EQ(static_cast<const float*>(worker(2).trainee.variables().data(0))[0], before) << "it was applied";
}

}  // namespace
}  // namespace thalweg::testing
