// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What ends messages of channels before they have arrived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/local_group.h"
#include "comm/payload.h"
#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using comm::Channel;
using comm::Communicator;
using comm::FailureKind;
using comm::kAnybody;
using comm::Pending;
using comm::Status;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

enum class Way { kMemory, kSockets, kTls };

class ChannelFailures : public ::testing::TestWithParam<Way> {
 protected:
  static LocalGroup group_of(int size, std::chrono::duration<double> timeout = patience()) {
    const bool memory = GetParam() == Way::kMemory;
    return LocalGroup(memory ? LocalGroup::one_host(size) : LocalGroup::own_hosts(size), 1, timeout,
                      GetParam() == Way::kTls);
  }
  static constexpr std::chrono::milliseconds kMoment{50};
};
std::string way_name(const ::testing::TestParamInfo<Way>& test) {
  if (test.param == Way::kMemory) return "memory";
  return test.param == Way::kTls ? "tls" : "sockets";
}
INSTANTIATE_TEST_SUITE_P(Ways, ChannelFailures, ::testing::Values(Way::kMemory, Way::kSockets, Way::kTls), way_name);

TEST_P(ChannelFailures, AWaitThatHasPassedLeavesTheMessageToBeWaitedFor) {
  LocalGroup group = group_of(2, std::chrono::milliseconds(100));
  const std::unique_ptr<Channel> a = group.member(0).channel(3), b = group.member(1).channel(3);
  Pending pending = a->receive(1, 9);
  const Status late = pending.wait();
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.failure().kind, FailureKind::kTimeout);
  EXPECT_THAT(late.failure().text(),
              ContainsRegex("rank 1: receiving on channel 3, tag 9: no progress, after [0-9.]+ s"));
  EXPECT_FALSE(pending.done());
  EXPECT_THAT(error_text([&] { pending.take(); }), HasSubstr("there is no message to take"));
  EXPECT_TRUE(b->send(0, bytes_of(7), 9).wait(patience()).ok());
  EXPECT_TRUE(pending.wait(patience()).ok());
  EXPECT_EQ(number_of(pending.take().bytes), 7U);
  EXPECT_THAT(error_text([&] { pending.take(); }), HasSubstr("take it once"));
}

TEST_P(ChannelFailures, ACancelledReceiveLeavesItsMessageToOthers) {
  LocalGroup group = group_of(2);
  const std::unique_ptr<Channel> a = group.member(0).channel(3), b = group.member(1).channel(3);
  Pending first = a->receive(1), second = a->receive(kAnybody);
  EXPECT_TRUE(first.cancel());
  EXPECT_FALSE(first.cancel()) << "once";
  EXPECT_EQ(first.wait().failure().kind, FailureKind::kCancelled);
  { const Pending dropped = a->receive(1); }
  EXPECT_TRUE(b->send(0, bytes_of(1)).wait().ok());
  EXPECT_TRUE(b->send(0, bytes_of(2)).wait().ok());
  EXPECT_TRUE(second.wait().ok());
  EXPECT_FALSE(second.cancel()) << "it is done";
  EXPECT_EQ(number_of(second.take().bytes), 1U);
  Pending third = a->receive(1);
  EXPECT_TRUE(third.wait().ok());
  EXPECT_EQ(number_of(third.take().bytes), 2U);
}

TEST_P(ChannelFailures, ACancelInTheMiddleOfAMessageLosesNothing) {
  LocalGroup group = group_of(2);
  const std::unique_ptr<Channel> a = group.member(0).channel(3), b = group.member(1).channel(3);
  // Its receives are cancelled while its bytes come in.
  const std::vector<std::byte> bytes = payload(12000000, 5);
  for (int repeat = 0; repeat < 4; ++repeat) {
    Pending sent = b->send(0, std::span(bytes));
    Pending pending = a->receive(1);
    for (int i = 0; i < 100 && !pending.done(); ++i) {
      if (pending.cancel()) pending = a->receive(i % 2 == 0 ? kAnybody : 1);
    }
    ASSERT_TRUE(pending.wait().ok());
    EXPECT_TRUE(pending.take().bytes == bytes);
    EXPECT_TRUE(sent.wait().ok());
  }
}

TEST_P(ChannelFailures, WhatIsNotOnItsWayCanBeTakenBack) {
  LocalGroup group = group_of(2);
  const std::unique_ptr<Channel> a = group.member(0).channel(3), b = group.member(1).channel(3);
  std::vector<Pending> sent;
  for (uint64_t i = 0; i < 12; ++i) sent.push_back(b->send(0, payload(3000000, i)));
  // More than the receiver keeps: the last one waits for its turn.
  EXPECT_TRUE(sent.back().cancel());
  EXPECT_EQ(sent.back().wait().failure().kind, FailureKind::kCancelled);
  b->send(0, bytes_of(99));
  for (uint64_t i = 0; i < 11; ++i) {
    Pending pending = a->receive(1);
    ASSERT_TRUE(pending.wait().ok());
    EXPECT_TRUE(pending.take().bytes == payload(3000000, i));
  }
  Pending last = a->receive(1);
  ASSERT_TRUE(last.wait().ok());
  EXPECT_EQ(number_of(last.take().bytes), 99U);
}

TEST_P(ChannelFailures, AbortEndsEverything) {
  LocalGroup group = group_of(2);
  Communicator& member = group.member(0);
  const std::unique_ptr<Channel> channel = member.channel(3);
  const std::unique_ptr<Communicator> part = member.split({0, 1});
  std::vector<Pending> pending = {channel->receive(1), channel->receive(kAnybody, 4), channel->receive(0, 5)};
  for (int i = 0; i < 20; ++i) pending.push_back(channel->send(1, payload(3000000, 1)));
  std::thread other([&] {
    std::this_thread::sleep_for(kMoment);
    member.abort("enough");
  });
  EXPECT_EQ(part->barrier().failure().what, "enough");
  other.join();
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, pending.size() - 1}) {
    const Status status = pending[i].wait(patience());
    ASSERT_FALSE(status.ok()) << i;
    EXPECT_EQ(status.failure().kind, FailureKind::kGroupChanged);
    EXPECT_EQ(status.failure().what, "enough");
  }
  EXPECT_EQ(channel->send(1, bytes_of(1)).wait().failure().what, "enough");
  EXPECT_EQ(channel->receive(1).wait().failure().what, "enough");
}

TEST_P(ChannelFailures, ChannelsAndMessagesOutliveTheirCommunicator) {
  std::unique_ptr<LocalGroup> group(new LocalGroup(group_of(2)));
  const std::unique_ptr<Channel> channel = group->member(0).channel(3);
  Pending pending = channel->receive(1);
  group.reset();
  EXPECT_EQ(pending.wait().failure().kind, FailureKind::kGroupChanged);
  EXPECT_FALSE(channel->send(1, bytes_of(1)).wait().ok());
}

TEST_P(ChannelFailures, AMemberMayBeAlone) {
  LocalGroup group(LocalGroup::own_hosts(1));
  const std::unique_ptr<Channel> channel = group.member(0).channel(3);
  channel->send(0, payload(100, 1));
  Pending pending = channel->receive(kAnybody);
  ASSERT_TRUE(pending.wait().ok());
  EXPECT_EQ(pending.take().from, 0);
  const std::unique_ptr<Communicator> part = group.member(0).split({0});
  EXPECT_TRUE(part->barrier().ok());
}

TEST_P(ChannelFailures, RanksThatAreNotThereAreRefused) {
  LocalGroup group = group_of(2);
  const std::unique_ptr<Channel> channel = group.member(0).channel(3);
  EXPECT_THAT(error_text([&] { channel->send(2, bytes_of(1)); }), HasSubstr("cannot send to rank 2 on channel 3"));
  EXPECT_THAT(error_text([&] { channel->send(kAnybody, bytes_of(1)); }), HasSubstr("cannot send to rank -1"));
  EXPECT_THAT(error_text([&] { channel->receive(-2); }), HasSubstr("cannot receive from rank -2"));
  EXPECT_THAT(error_text([&] { Pending().done(); }), HasSubstr("made by no channel"));
}

/// Rings in shared memory do not tell that a peer is gone: the rendezvous does.
class LostPeers : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ways, LostPeers, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "tls" : "sockets"); });

TEST_P(LostPeers, FailWhatIsUnderWayWithThemAndLeaveTheRest) {
  LocalGroup group(LocalGroup::own_hosts(3), 1, patience(), GetParam());
  const std::unique_ptr<Channel> first = group.member(0).channel(3), second = group.member(1).channel(3),
                                 third = group.member(2).channel(3);
  EXPECT_TRUE(third->send(0, bytes_of(33)).wait().ok());
  // So that it is there when the peer goes.
  EXPECT_TRUE(third->send(0, bytes_of(34), 1).wait().ok());
  Pending arrived = first->receive(2, 1);
  EXPECT_TRUE(arrived.wait().ok());
  std::vector<Pending> lost = {first->receive(2, 5), first->receive(kAnybody, 5)};
  for (int i = 0; i < 12; ++i) lost.push_back(first->send(2, payload(3000000, 1)));
  Pending other = first->receive(1, 5);
  group.remove(2);
  for (const size_t i : {size_t{0}, size_t{1}, lost.size() - 1}) {
    const Status status = lost[i].wait();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.failure().kind, FailureKind::kPeerLost) << text_of(status);
    EXPECT_EQ(status.failure().peer, 2);
  }
  EXPECT_FALSE(other.done());
  EXPECT_TRUE(second->send(0, bytes_of(8), 5).wait().ok());
  EXPECT_TRUE(other.wait().ok());
  // What it had sent before is still there.
  Pending early = first->receive(2);
  EXPECT_TRUE(early.wait().ok());
  EXPECT_EQ(number_of(early.take().bytes), 33U);
  EXPECT_FALSE(first->receive(kAnybody).wait().ok());
  EXPECT_FALSE(first->send(2, bytes_of(1)).wait().ok());
}

TEST_P(LostPeers, BreakTheSubgroupsTheyAreIn) {
  LocalGroup group(LocalGroup::own_hosts(3), 1, patience(), GetParam());
  const std::unique_ptr<Communicator> with = group.member(0).split({0, 2}), without = group.member(0).split({0, 1});
  const std::unique_ptr<Communicator> theirs = group.member(1).split({0, 1});
  std::thread leaving([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    group.remove(2);
  });
  float value = 0;
  const Status status = with->all_reduce(&value, 1, DType::kF32);
  leaving.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().kind, FailureKind::kPeerLost);
  EXPECT_EQ(status.failure().peer, 1) << "its rank in the subgroup";
  std::thread other([&] { EXPECT_TRUE(theirs->barrier().ok()); });
  EXPECT_TRUE(without->barrier().ok());
  other.join();
}

}  // namespace
}  // namespace thalweg::testing
