// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Messages between members that wait for nobody.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "comm/layouts.h"
#include "comm/payload.h"

namespace thalweg::testing {
namespace {

using comm::Channel;
using comm::Communicator;
using comm::kAnybody;
using comm::Message;
using comm::Pending;
using comm::Status;

class Channels : public InEveryLayout {};
INSTANTIATE_TEST_SUITE_P(Layouts, Channels, ::testing::ValuesIn(layouts()), layout_name);

/// Around the sizes of rings, socket buffers and windows.
const size_t kSizes[] = {0, 1, 31, 4096, 100001, 262144, 3000000, 20000000};

Message expect_message(Pending pending) {
  const Status status = pending.wait();
  EXPECT_TRUE(status.ok()) << text_of(status);
  return status.ok() ? pending.take() : Message();
}

uint64_t seed_of(int from, int to, size_t number) { return static_cast<uint64_t>(from * 1000 + to) * 1000 + number; }

TEST_P(Channels, MessagesSayTheirOwnSize) {
  run([&](Communicator& member) {
    const std::unique_ptr<Channel> channel = member.channel(1);
    const int to = (member.rank() + 1) % member.size(), from = (member.rank() + member.size() - 1) % member.size();
    std::vector<Pending> sent;
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      sent.push_back(channel->send(to, payload(kSizes[i], seed_of(member.rank(), to, i)), 7));
    }
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      const Message message = expect_message(channel->receive(from, 7));
      EXPECT_EQ(message.from, from);
      EXPECT_TRUE(message.bytes == payload(kSizes[i], seed_of(from, member.rank(), i))) << kSizes[i];
    }
    for (Pending& one : sent) EXPECT_TRUE(one.wait().ok());
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Channels, WhoAsksFirstGetsTheFirst) {
  run([&](Communicator& member) {
    const std::unique_ptr<Channel> channel = member.channel(2);
    const int to = (member.rank() + 1) % member.size(), from = (member.rank() + member.size() - 1) % member.size();
    std::vector<Pending> asked;
    for (int i = 0; i < 50; ++i) asked.push_back(channel->receive(from));
    EXPECT_TRUE(member.barrier().ok());
    for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(channel->send(to, bytes_of(i)).wait().ok());
    for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(number_of(expect_message(asked[i]).bytes), i);
  });
}

TEST_P(Channels, TagsAndChannelsPassEachOther) {
  run([&](Communicator& member) {
    const int to = (member.rank() + 1) % member.size(), from = (member.rank() + member.size() - 1) % member.size();
    std::vector<std::unique_ptr<Channel>> channels;
    for (uint32_t id = 0; id < 3; ++id) channels.push_back(member.channel(10 + id));
    for (uint64_t i = 0; i < 3 * 40; ++i) {
      EXPECT_TRUE(channels[i % 3]->send(to, bytes_of(i), static_cast<uint32_t>(i / 3)).wait().ok());
    }
    // In quite another order.
    for (uint32_t tag = 40; tag-- > 0;) {
      for (uint64_t id = 3; id-- > 0;) {
        EXPECT_EQ(number_of(expect_message(channels[id]->receive(from, tag)).bytes), tag * 3 + id);
      }
    }
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Channels, AnybodyIsNamed) {
  constexpr int kEach = 200;
  run([&](Communicator& member) {
    const std::unique_ptr<Channel> channel = member.channel(20);
    for (int i = 0; i < kEach; ++i) {
      // Everybody, also itself; some of it longer than a ring.
      for (int to = 0; to < member.size(); ++to) {
        std::vector<std::byte> bytes = bytes_of(static_cast<uint64_t>(i));
        bytes.resize(i % 50 == 0 ? 400000 : 8);
        channel->send(to, std::move(bytes), 3);
      }
    }
    std::map<int, uint64_t> next;
    for (int i = 0; i < kEach * member.size(); ++i) {
      const Message message = expect_message(channel->receive(kAnybody, 3));
      ASSERT_GE(message.from, 0);
      ASSERT_LT(message.from, member.size());
      EXPECT_EQ(number_of(message.bytes), next[message.from]++) << "from " << message.from;
    }
    for (int from = 0; from < member.size(); ++from) EXPECT_EQ(next[from], static_cast<uint64_t>(kEach));
    EXPECT_TRUE(member.barrier().ok());
  });
}

/// Several threads of each member send on the same channel, others receive, and the group's own collectives go on.
TEST_P(Channels, ServeManyThreadsAtOnceBesideCollectives) {
  constexpr int kThreads = 3, kEach = 60;
  run([&](Communicator& member) {
    const std::unique_ptr<Channel> channel = member.channel(30);
    std::atomic<uint64_t> sum_sent{0}, sum_got{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937 random(static_cast<unsigned>(member.rank() * 10 + thread));
        for (int i = 0; i < kEach; ++i) {
          for (int to = 0; to < member.size(); ++to) {
            const uint64_t number = random();
            std::vector<std::byte> bytes = bytes_of(number);
            bytes.resize(8 + random() % 30000);
            sum_sent += number;
            channel->send(to, std::move(bytes), static_cast<uint32_t>(thread));
          }
        }
      });
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kEach * member.size(); ++i) {
          sum_got += number_of(expect_message(channel->receive(kAnybody, static_cast<uint32_t>(thread))).bytes);
        }
      });
    }
    std::vector<float> values(30000);
    for (int i = 0; i < 10; ++i) {
      std::fill(values.begin(), values.end(), 1.0F);
      EXPECT_TRUE(member.all_reduce(values.data(), values.size(), DType::kF32).ok());
      EXPECT_EQ(values.back(), static_cast<float>(member.size()));
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t sums[] = {sum_sent, sum_got};
    EXPECT_TRUE(member.all_reduce(sums, 2, DType::kU64).ok());
    EXPECT_EQ(sums[0], sums[1]) << "something was lost or came twice";
  });
}

TEST_P(Channels, OneOfSeveralIsWaitedFor) {
  run([&](Communicator& member) {
    const std::unique_ptr<Channel> channel = member.channel(40);
    std::vector<Pending> asked;
    for (uint32_t tag = 0; tag < 4; ++tag) asked.push_back(channel->receive(kAnybody, tag));
    EXPECT_EQ(comm::wait_any(asked, std::chrono::milliseconds(20)), -1);
    EXPECT_TRUE(channel->send(member.rank(), bytes_of(5), 2).wait().ok());
    EXPECT_EQ(comm::wait_any(asked, patience()), 2);
    EXPECT_EQ(number_of(asked[2].take().bytes), 5U);
    EXPECT_TRUE(member.barrier().ok());
  });
}

/// More than a window, and more than all windows together that anybody would keep, without anybody asking for it.
TEST_P(Channels, AFullChannelLeavesOthersAlone) {
  constexpr size_t kPiece = 3000000, kPieces = 14;
  run([&](Communicator& member) {
    const std::unique_ptr<Channel> heavy = member.channel(50), light = member.channel(51);
    const int to = (member.rank() + 1) % member.size(), from = (member.rank() + member.size() - 1) % member.size();
    std::vector<Pending> sent;
    for (size_t i = 0; i < kPieces; ++i) sent.push_back(heavy->send(to, payload(kPiece, i)));
    for (uint64_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(light->send(to, bytes_of(i)).wait().ok());
      EXPECT_EQ(number_of(expect_message(light->receive(from)).bytes), i);
    }
    EXPECT_TRUE(member.barrier().ok());
    EXPECT_FALSE(sent.back().done()) << "42 MB are nowhere";
    EXPECT_TRUE(member.barrier().ok());
    for (size_t i = 0; i < kPieces; ++i) EXPECT_TRUE(expect_message(heavy->receive(from)).bytes == payload(kPiece, i));
    for (Pending& one : sent) EXPECT_TRUE(one.wait().ok());
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Channels, CountWhatPasses) {
  run([&](Communicator& member) {
    const comm::Traffic before = member.traffic();
    const std::unique_ptr<Channel> channel = member.channel(60);
    const int to = (member.rank() + 1) % member.size(), from = (member.rank() + member.size() - 1) % member.size();
    channel->send(to, payload(1000, 1));
    channel->send(to, payload(500, 2));
    EXPECT_EQ(expect_message(channel->receive(from)).bytes.size(), 1000U);
    EXPECT_EQ(expect_message(member.channel(60)->receive(from)).bytes.size(), 500U);
    const comm::Traffic traffic = channel->traffic();
    EXPECT_EQ(traffic.sent_bytes, 1500U);
    EXPECT_EQ(traffic.received_bytes, 1500U);
    EXPECT_EQ(traffic.sent_messages, 2U);
    EXPECT_EQ(traffic.received_messages, 2U);
    EXPECT_EQ(member.traffic().sent_bytes - before.sent_bytes, 1500U);
    EXPECT_EQ(member.channel(61)->traffic().sent_bytes, 0U);
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Channels, CountWhatCollectivesMove) {
  run([&](Communicator& member) {
    constexpr size_t kCount = 300000;
    std::vector<float> values(kCount, 1);
    const comm::Traffic before = member.traffic();
    EXPECT_TRUE(member.all_reduce(values.data(), kCount, DType::kF32).ok());
    const comm::Traffic after = member.traffic();
    uint64_t moved[] = {after.sent_bytes - before.sent_bytes, after.received_bytes - before.received_bytes};
    EXPECT_TRUE(member.all_reduce(moved, 2, DType::kU64).ok());
    EXPECT_EQ(moved[0], moved[1]) << "what one sends another receives";
    // The least that an all-reduce can do.
    EXPECT_GE(moved[0], 2 * static_cast<uint64_t>(member.size() - 1) * kCount * sizeof(float));
    EXPECT_LE(moved[0], 4 * static_cast<uint64_t>(member.size() - 1) * kCount * sizeof(float));
  });
}

}  // namespace
}  // namespace thalweg::testing
