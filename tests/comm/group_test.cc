// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <thread>

#include "base/deadline.h"
#include "comm/socket.h"
#include "support/error_text.h"
#include "support/patience.h"
#include "thalweg/comm.h"

namespace thalweg::testing {
namespace {

using comm::Group;
using comm::GroupOptions;
using comm::Rendezvous;
using comm::RendezvousOptions;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A rendezvous, what it logs, and members as threads; with TLS or without.
class GroupTest : public ::testing::TestWithParam<bool> {
 protected:
  /// The group forms when `most` have come, and goes on with `least`.
  RendezvousOptions rendezvous_options(int least, int most) {
    RendezvousOptions options;
    options.secret = "the job's secret";
    options.tls = GetParam();
    options.min_size = least;
    options.max_size = most;
    options.settle = options.silence = options.return_timeout = options.form_timeout = patience();
    options.log = [this](const std::string& line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      log_.push_back(line);
    };
    return options;
  }
  void start(int least, int most) { rendezvous_ = std::make_unique<Rendezvous>(rendezvous_options(least, most)); }
  /// The group forms when `first` have come, and has room for more.
  void start_open(int first, int most, std::chrono::milliseconds settle = {}) {
    RendezvousOptions options = rendezvous_options(first, most);
    options.settle = settle;
    rendezvous_ = std::make_unique<Rendezvous>(options);
  }

  GroupOptions member_options(const std::string& name, comm::Path path = comm::Path::kAuto) {
    GroupOptions options;
    options.rendezvous = rendezvous_->address();
    options.secret = "the job's secret";
    options.tls = GetParam();
    options.name = name;
    options.path = path;
    options.form_timeout = options.timeout = patience();
    return options;
  }
  std::future<std::unique_ptr<Group>> joining(const std::string& name, comm::Path path = comm::Path::kAuto) {
    return std::async(std::launch::async, [options = member_options(name, path)] { return Group::join(options); });
  }
  std::vector<std::unique_ptr<Group>> form(int size, comm::Path path = comm::Path::kAuto) {
    std::vector<std::future<std::unique_ptr<Group>>> pending;
    for (int i = 0; i < size; ++i) pending.push_back(joining("worker " + std::to_string(i), path));
    std::vector<std::unique_ptr<Group>> members(static_cast<size_t>(size));
    for (auto& entry : pending) {
      std::unique_ptr<Group> member = entry.get();
      auto& place = members[static_cast<size_t>(member->rank())];
      EXPECT_EQ(place, nullptr) << "two members have one rank";
      place = std::move(member);
    }
    return members;
  }
  /// Runs `body` for each member on a thread of its own.
  static void each(std::vector<std::unique_ptr<Group>>& members, const std::function<void(Group&)>& body) {
    std::vector<std::thread> threads;
    for (auto& member : members) {
      if (member != nullptr) threads.emplace_back([&] { body(*member); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static void expect_sum(Group& group) {
    std::vector<float> values(1000, static_cast<float>(group.rank() + 1));
    const comm::Status status = group.communicator().all_reduce(values.data(), values.size(), DType::kF32);
    ASSERT_TRUE(status.ok()) << status.failure().text();
    EXPECT_EQ(values[999], static_cast<float>(group.size() * (group.size() + 1) / 2));
  }
  /// Waits until so many lines of the log hold the text.
  bool logged(const std::string& text, int64_t lines = 1) {
    return eventually([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return lines <= std::count_if(log_.begin(), log_.end(),
                                    [&](const std::string& line) { return line.find(text) != std::string::npos; });
    });
  }

  std::mutex mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<Rendezvous> rendezvous_;
};

INSTANTIATE_TEST_SUITE_P(Wires, GroupTest, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "tcp_tls" : "tcp"); });

TEST_P(GroupTest, MembersMeetAndReduceThroughSharedMemory) {
  start(3, 3);
  auto members = form(3);
  each(members, [](Group& group) {
    EXPECT_EQ(group.epoch(), 1U);
    EXPECT_EQ(group.names().size(), 3U);
    expect_sum(group);
  });
}

TEST_P(GroupTest, MembersMeetAndReduceOverTcp) {
  start(3, 3);
  auto members = form(3, comm::Path::kTcp);
  each(members, expect_sum);
}

/// Asks the system itself: what listens here may be what is wrong.
bool has_ipv6() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  sockaddr_in6 loopback = {};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
  ::close(socket);
  return bound;
}

TEST_P(GroupTest, MembersMeetAndReduceOverIpv6) {
  if (!has_ipv6()) GTEST_SKIP() << "this host has no IPv6";
  RendezvousOptions options = rendezvous_options(2, 2);
  options.address = "[::1]:0";
  rendezvous_ = std::make_unique<Rendezvous>(options);
  auto members = form(2, comm::Path::kTcp);
  each(members, expect_sum);
}

TEST_P(GroupTest, FewerThanTheMostFormOnceNobodyElseComes) {
  start_open(2, 5, std::chrono::milliseconds(200));  // patience: it is what the test is about, and both are needed
  auto members = form(2);
  each(members, [](Group& group) { EXPECT_EQ(group.size(), 2); });
}

TEST_P(GroupTest, TheOthersGoOnWhenAMemberIsLost) {
  for (const comm::Path path : {comm::Path::kAuto, comm::Path::kTcp}) {
    start(1, 3);
    auto members = form(3, path);
    std::thread([&] { members[1].reset(); }).join();
    each(members, [&](Group& group) {
      std::vector<float> values(100000);
      const comm::Status status = group.communicator().all_reduce(values.data(), values.size(), DType::kF32);
      ASSERT_FALSE(status.ok());
      group.next_epoch(status.failure().text());
      EXPECT_EQ(group.epoch(), 2U);
      EXPECT_EQ(group.size(), 2);
      expect_sum(group);
    });
  }
}

TEST_P(GroupTest, ANewcomerWaitsForTheNextEpoch) {
  start_open(2, 4);
  auto members = form(2);
  auto pending = joining("late");
  each(members, [](Group& group) {
    for (const Deadline deadline(patience()); !deadline.expired();) {
      // What one knows the others learn at the same place, so that all leave the epoch together.
      int32_t waiting = group.newcomers_waiting() ? 1 : 0;
      ASSERT_TRUE(group.communicator().all_reduce(&waiting, 1, DType::kI32, comm::ReduceOp::kMax).ok());
      if (waiting != 0) break;
    }
    group.next_epoch();
    EXPECT_EQ(group.size(), 3);
  });
  members.push_back(pending.get());
  EXPECT_EQ(members.back()->rank(), 2);
  each(members, expect_sum);
}

TEST_P(GroupTest, ABrokenOperationOfOneMemberEndsTheEpochForAll) {
  start(2, 2);
  auto members = form(2);
  each(members, [](Group& group) {
    if (group.rank() == 0) {
      group.next_epoch("a connection was reset");
    } else {
      float value = 0;
      const comm::Status status = group.communicator().all_reduce(&value, 1, DType::kF32);
      ASSERT_FALSE(status.ok());
      EXPECT_THAT(status.failure().text(), HasSubstr("a connection was reset"));
      group.next_epoch(status.failure().text());
    }
    EXPECT_EQ(group.size(), 2);
    expect_sum(group);
  });
}

TEST_P(GroupTest, AGroupThatCannotFormSaysWhoCameAndWhoDidNot) {
  RendezvousOptions options = rendezvous_options(3, 3);
  options.form_timeout = std::chrono::milliseconds(300);
  // The time counts from when one has come.
  options.queued = true;
  options.expected = {"worker 0", "worker 1", "worker 2"};
  rendezvous_ = std::make_unique<Rendezvous>(options);
  auto pending = joining("worker 1");
  const std::string text = error_text([&] { pending.get(); });
  EXPECT_THAT(text, HasSubstr("1 of at least 3 members came (worker 1), missing: worker 0, worker 2"));
  EXPECT_EQ(rendezvous_->state().error, text);
}

TEST_P(GroupTest, NobodyThereIsAnErrorThatNamesTheAddress) {
  start(1, 1);
  GroupOptions options = member_options("alone");
  rendezvous_.reset();
  options.form_timeout = std::chrono::milliseconds(200);
  EXPECT_THAT(error_text([&] { Group::join(options); }), HasSubstr(options.rendezvous));
}

TEST_P(GroupTest, WithoutTheSecretNobodyGetsIn) {
  start_open(2, 3);
  auto members = form(2);
  GroupOptions options = member_options("intruder");
  options.secret = "a guess";
  EXPECT_THAT(error_text([&] { Group::join(options); }), HasSubstr("secret"));
  EXPECT_TRUE(logged("it does not know the group's secret"));
  each(members, expect_sum);
}

TEST_P(GroupTest, WhoDoesNotAgreeAboutTlsIsToldSo) {
  start_open(2, 3);
  auto members = form(2);
  GroupOptions options = member_options("other");
  options.tls = !options.tls;
  const std::string text = error_text([&] { Group::join(options); });
  EXPECT_THAT(text, HasSubstr("cannot join the group at " + options.rendezvous + ": the group "));
  EXPECT_THAT(text, HasSubstr(GetParam() ? "uses TLS, which this member was not told to"
                                         : "does not use TLS, which this member insists on"));
  EXPECT_TRUE(
      logged(GetParam() ? "it does not use TLS, as this group does" : "it wants TLS, which this group does not"));
  each(members, expect_sum);
}

TEST_P(GroupTest, TheGroupSurvivesARestartOfTheRendezvous) {
  start(1, 3);
  auto members = form(3);
  RendezvousOptions options = rendezvous_options(1, 3);
  options.address = rendezvous_->address();
  rendezvous_.reset();
  each(members, expect_sum);
  rendezvous_ = std::make_unique<Rendezvous>(options);
  EXPECT_TRUE(logged("is back", 3));
  // The new one notices losses like the old one.
  std::thread([&] { members[2].reset(); }).join();
  each(members, [](Group& group) {
    float value = 0;
    const comm::Status status = group.communicator().all_reduce(&value, 1, DType::kF32);
    ASSERT_FALSE(status.ok());
    group.next_epoch(status.failure().text());
    EXPECT_EQ(group.size(), 2);
    expect_sum(group);
  });
}

TEST_P(GroupTest, WhoPreparesItselfLetsTheOthersWaitLongerThanAnyDeadline) {
  constexpr std::chrono::seconds kShort{1};
  RendezvousOptions options = rendezvous_options(2, 2);
  options.form_timeout = kShort;
  const auto reserve = [&](int seat) {
    GroupOptions member = member_options("worker " + std::to_string(seat));
    member.seat = seat;
    return Group::reserve(member);
  };
  std::vector<std::unique_ptr<Group>> groups;
  // Both have to come within that time.
  ASSERT_TRUE(in_some_attempt([&] {
    groups.clear();
    rendezvous_ = std::make_unique<Rendezvous>(options);
    const std::string failure = error_text([&] {
      auto other = std::async(std::launch::async, reserve, 1);
      groups.push_back(reserve(0));
      groups.push_back(other.get());
    });
    return groups.size() == 2;
  }));
  auto early = std::async(std::launch::async, [&] { groups[1]->next_epoch(); });
  groups[0]->set_status("reads");
  std::this_thread::sleep_for(kShort + std::chrono::milliseconds(500));
  EXPECT_TRUE(eventually([&] {
    const Rendezvous::State state = rendezvous_->state();
    return state.present == 2 && state.preparing.size() == 1 && state.preparing[0].status == "reads";
  })) << rendezvous_->state().error;
  groups[0]->next_epoch();
  early.get();
  EXPECT_EQ(groups[0]->rank(), 0);
  EXPECT_EQ(groups[0]->size(), 2);
}

TEST_P(GroupTest, AMemberWaitsNoLongerThanTheRendezvousAnswers) {
  constexpr std::chrono::milliseconds kShort{1500};
  // A rendezvous that the machine keeps from answering for so long does not answer.
  EXPECT_TRUE(in_some_attempt([&] {
    start(2, 2);
    GroupOptions options = member_options("alone");
    options.form_timeout = kShort;
    auto pending = std::async(std::launch::async, [&] { return error_text([&] { Group::join(options); }); });
    const bool waited = pending.wait_for(kShort + std::chrono::milliseconds(500)) == std::future_status::timeout;
    rendezvous_.reset();
    const std::string text = pending.get();
    EXPECT_THAT(text, HasSubstr(options.rendezvous));
    const std::string silent = "the rendezvous at " + options.rendezvous + " has not answered for ";
    return waited && text.find(silent) != std::string::npos;
  }));
}

TEST_P(GroupTest, AnotherHandsOverWhatTheFirstHasTakenAway) {
  RendezvousOptions options = rendezvous_options(2, 2);
  options.wants_result = true;
  rendezvous_ = std::make_unique<Rendezvous>(options);
  auto members = form(2);
  each(members, [](Group& group) { group.finish(); });
  EXPECT_TRUE(members[0]->hands_over());
  auto second = std::async(std::launch::async, [&] { return members[1]->hands_over(); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  members[0].reset();
  EXPECT_TRUE(second.get());
  members[1]->handed_over();
  rendezvous_->accept_result();
  EXPECT_TRUE(eventually([&] { return !members[1]->hands_over(); }));
}

TEST_P(GroupTest, AfterTheEndNobodyIsAdmitted) {
  start_open(1, 2);
  auto members = form(1);
  members[0]->finish();
  EXPECT_THAT(error_text([&] { Group::join(member_options("late")); }), HasSubstr("the job has ended"));
  EXPECT_THROW(Group::join(member_options("late")), comm::JobEnded);
  EXPECT_EQ(rendezvous_->state().arrivals["late"], 2);
  EXPECT_TRUE(rendezvous_->state().finished);
}

}  // namespace
}  // namespace thalweg::testing
