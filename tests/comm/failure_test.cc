// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "comm/local_group.h"

namespace thalweg::testing {
namespace {

using comm::Communicator;
using comm::FailureKind;
using ::testing::HasSubstr;

/// By what the members of a group are connected: memory, sockets or tls.
class Failures : public ::testing::TestWithParam<std::string> {
 protected:
  static bool memory() { return GetParam() == "memory"; }
  static LocalGroup make_group(int size, std::chrono::duration<double> timeout = patience()) {
    return LocalGroup(memory() ? LocalGroup::one_host(size) : LocalGroup::own_hosts(size), 1, timeout,
                      GetParam() == "tls");
  }
};

INSTANTIATE_TEST_SUITE_P(Transports, Failures, ::testing::Values("memory", "sockets", "tls"),
                         [](const auto& test) { return test.param; });

TEST_P(Failures, AMemberThatStaysAwayIsATimeoutThatNamesIt) {
  // Where one of the two that come is late by as much as they wait, it is taken for the one that stays away.
  EXPECT_TRUE(in_some_attempt([] {
    LocalGroup group = make_group(3, std::chrono::milliseconds(300));
    std::atomic<int> right{0};
    group.run([&](Communicator& member) {
      if (member.rank() == 2) return;
      std::vector<float> values(1000);
      const comm::Status status = member.all_reduce(values.data(), values.size(), DType::kF32);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.failure().kind, FailureKind::kTimeout);
      EXPECT_GE(status.failure().seconds, 0.29);
      // By a tree one of the two waits for the other, which waits for the third.
      right += status.failure().peer == 2 || (!memory() && status.failure().peer >= 0) ? 1 : 0;
      // And so is every later call.
      EXPECT_FALSE(member.barrier().ok());
    });
    return right == 2;
  }));
}

TEST_P(Failures, AbortEndsAWaitAtOnce) {
  LocalGroup group = make_group(2);
  std::thread waiting([&] {
    std::vector<float> values(1000);
    const comm::Status reduced = group.member(0).all_reduce(values.data(), values.size(), DType::kF32);
    ASSERT_FALSE(reduced.ok());
    EXPECT_EQ(reduced.failure().kind, FailureKind::kGroupChanged);
    EXPECT_THAT(reduced.failure().text(), HasSubstr("rank 1 was lost"));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // Nothing else ends the wait with this failure.
  group.member(0).abort("rank 1 was lost");
  waiting.join();
  int32_t value = 0;
  const comm::Status received = group.member(0).receive(1, 3, &value, sizeof value);
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.failure().kind, FailureKind::kGroupChanged);
}

TEST_P(Failures, SizesThatDifferAreReported) {
  LocalGroup group = make_group(2);
  group.run([&](Communicator& member) {
    std::vector<std::byte> data(100);
    if (member.rank() == 0) {
      EXPECT_TRUE(member.send(1, 9, data.data(), 60).ok());
      return;
    }
    const comm::Status status = member.receive(0, 9, data.data(), 100);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.failure().kind, FailureKind::kProtocol);
    EXPECT_THAT(status.failure().text(), HasSubstr("rank 0: it sent a message of 60 bytes where 100 are expected"));
  });
}

TEST(SocketFailures, AConnectionThatBreaksNamesThePeer) {
  for (const bool tls : {false, true}) {
    LocalGroup group(LocalGroup::own_hosts(2), 1, patience(), tls);
    group.remove(1);
    std::vector<float> values(100000);
    const comm::Status status = group.member(0).all_reduce(values.data(), values.size(), DType::kF32);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.failure().kind, FailureKind::kPeerLost);
    EXPECT_EQ(status.failure().peer, 1);
    EXPECT_THAT(status.failure().text(), HasSubstr("rank 1: "));
    EXPECT_THROW(status.or_throw(), Error);
  }
}

/// Sends empty messages that nobody waits for, one after the other.
struct EmptyMessages : comm::Link {
  explicit EmptyMessages(int messages) : left(messages) {}
  comm::IoResult write_some(std::span<const iovec> /*pieces*/) override { return {}; }
  comm::IoResult read_some(void* data, size_t bytes) override {
    const uint64_t header[] = {12345, 0};
    if (bytes != sizeof header || left == 0) return {};
    --left;
    std::memcpy(data, header, sizeof header);
    return {sizeof header, ""};
  }
  int descriptor() const override { return -1; }
  int left;
};

TEST(SocketFailures, EmptyMessagesThatNobodyWaitsForAreLimitedToo) {
  comm::MessageStream stream(std::make_unique<EmptyMessages>(2'000'000));
  std::byte data[4];
  stream.receive({comm::TagSpace::kUser, 1}, data, sizeof data);
  stream.progress();
  EXPECT_THAT(stream.error(), HasSubstr("it sent a message of 0 bytes that nobody waits for, beyond 64.0 MiB of such"));
  EXPECT_TRUE(stream.protocol_error());
}

TEST(SocketFailures, AMessageBeyondEveryLimitIsRefused) {
  SocketPair pair;
  comm::MessageStream stream(std::make_unique<comm::SocketLink>(std::move(pair.ours)));
  const uint64_t header[] = {12345, uint64_t{1} << 60U};
  ASSERT_EQ(::write(pair.theirs.get(), header, sizeof header), static_cast<ssize_t>(sizeof header));
  std::byte data[4];
  stream.receive({comm::TagSpace::kUser, 1}, data, sizeof data);
  stream.progress();
  EXPECT_THAT(stream.error(), HasSubstr("that nobody waits for"));
  EXPECT_TRUE(stream.protocol_error());
}

}  // namespace
}  // namespace thalweg::testing
