// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Parts of a group, with collectives and channels of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "comm/layouts.h"
#include "comm/payload.h"
#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using comm::Communicator;
using comm::kAnybody;
using comm::Status;
using ::testing::HasSubstr;

class Subgroups : public InEveryLayout {};
INSTANTIATE_TEST_SUITE_P(Layouts, Subgroups, ::testing::ValuesIn(layouts()), layout_name);

std::vector<int> every(int size, int step, int first) {
  std::vector<int> ranks;
  for (int rank = first; rank < size; rank += step) ranks.push_back(rank);
  return ranks;
}

float value_at(int rank, size_t i) { return std::sin(static_cast<float>(i) * 0.37F + static_cast<float>(rank)); }

/// All collectives of a group whose members have these ranks in the whole group.
void expect_all_collectives(Communicator& part, const std::vector<int>& ranks) {
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{5000}, size_t{300001}}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = value_at(ranks[static_cast<size_t>(part.rank())], i);
    const Status status = part.all_reduce(values.data(), count, DType::kF32);
    ASSERT_TRUE(status.ok()) << text_of(status);
    for (size_t i = 0; i < count; i += 1 + count / 300) {
      double sum = 0;
      for (const int rank : ranks) sum += static_cast<double>(value_at(rank, i));
      ASSERT_NEAR(values[i], sum, 1e-5) << i << " of " << count;
    }
    std::vector<float> first = values;
    ASSERT_TRUE(part.broadcast(first.data(), count * sizeof(float), part.size() - 1).ok());
    EXPECT_TRUE(first == values) << "not the same bits everywhere";
  }
  std::vector<int64_t> all(static_cast<size_t>(part.size()), -1);
  all[static_cast<size_t>(part.rank())] = part.rank();
  ASSERT_TRUE(part.all_gather(all.data(), all.size(), DType::kI64).ok());
  for (int rank = 0; rank < part.size(); ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], rank);
  ASSERT_TRUE(part.barrier().ok());
}

TEST_P(Subgroups, HaveCollectivesOfTheirOwn) {
  run([&](Communicator& member) {
    const std::vector<int> ranks = every(member.size(), 2, member.rank() % 2);
    const std::unique_ptr<Communicator> part = member.split(ranks);
    EXPECT_EQ(part->size(), static_cast<int>(ranks.size()));
    EXPECT_EQ(ranks[static_cast<size_t>(part->rank())], member.rank());
    expect_all_collectives(*part, ranks);
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Subgroups, AllAtOnceOnSeveralThreads) {
  run([&](Communicator& member) {
    const int n = member.size();
    // The whole in two orders, neighbours with wrap-around, and halves: each rank is in all of them at once.
    std::vector<std::vector<int>> lists = {every(n, 1, 0), every(n, 1, 0), every(n, 2, member.rank() % 2)};
    std::reverse(lists[1].begin(), lists[1].end());
    std::vector<std::unique_ptr<Communicator>> parts;
    for (const auto& ranks : lists) parts.push_back(member.split(ranks));
    parts.push_back(member.split(lists[0]));
    lists.push_back(lists[0]);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < parts.size(); ++i) {
      threads.emplace_back([&, i] { expect_all_collectives(*parts[i], lists[i]); });
    }
    std::vector<float> values(100000, 1);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(member.all_reduce(values.data(), values.size(), DType::kF32).ok());
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Subgroups, ByColor) {
  run([&](Communicator& member) {
    std::unique_ptr<Communicator> part;
    const int color = member.rank() == 0 ? -1 : member.rank() % 2;
    ASSERT_TRUE(comm::split_by_color(member, color, part).ok());
    EXPECT_EQ(part == nullptr, member.rank() == 0);
    if (part != nullptr) {
      int64_t sum = member.rank();
      EXPECT_TRUE(part->all_reduce(&sum, 1, DType::kI64).ok());
      int64_t expected = 0;
      for (int rank = 1; rank < member.size(); ++rank) expected += rank % 2 == color ? rank : 0;
      EXPECT_EQ(sum, expected);
    }
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Subgroups, ChannelsUseTheirRanks) {
  run([&](Communicator& member) {
    std::vector<int> ranks = every(member.size(), 1, 0);
    std::reverse(ranks.begin(), ranks.end());
    const std::unique_ptr<Communicator> part = member.split(ranks);
    const std::unique_ptr<comm::Channel> theirs = part->channel(1), whole = member.channel(1);
    for (int to = 0; to < part->size(); ++to) theirs->send(to, bytes_of(static_cast<uint64_t>(part->rank())));
    for (int i = 0; i < part->size(); ++i) {
      comm::Pending pending = theirs->receive(kAnybody);
      ASSERT_TRUE(pending.wait().ok());
      const comm::Message message = pending.take();
      EXPECT_EQ(static_cast<uint64_t>(message.from), number_of(message.bytes));
    }
    EXPECT_FALSE(whole->receive(kAnybody).wait(std::chrono::milliseconds(1)).ok()) << "the whole group's is another";
    const auto n = static_cast<uint64_t>(part->size());
    EXPECT_EQ(part->traffic().sent_bytes, 8 * n);
    EXPECT_EQ(theirs->traffic().received_messages, n);
    EXPECT_TRUE(part->barrier().ok());
  });
}

TEST_P(Subgroups, OfSubgroups) {
  run([&](Communicator& member) {
    const std::vector<int> ranks = every(member.size(), 1, 0);
    const std::unique_ptr<Communicator> outer = member.split(ranks), inner = outer->split({outer->rank()});
    int64_t one = 1;
    EXPECT_TRUE(inner->all_reduce(&one, 1, DType::kI64).ok());
    EXPECT_EQ(one, 1);
    const std::unique_ptr<Communicator> again = outer->split(ranks);
    expect_all_collectives(*again, ranks);
    EXPECT_TRUE(member.barrier().ok());
  });
}

TEST(SubgroupErrors, AListThatMakesNoSenseIsRefused) {
  LocalGroup group(LocalGroup::own_hosts(2));
  for (const std::vector<int>& ranks : {std::vector<int>{}, {1}, {0, 0}, {0, 2}, {-1, 0}}) {
    EXPECT_THAT(error_text([&] { group.member(0).split(ranks); }), HasSubstr("cannot be in a subgroup of ranks"));
  }
}

TEST(SubgroupErrors, OneThatBreaksLeavesOthersAlone) {
  LocalGroup group(LocalGroup::own_hosts(2), 1, std::chrono::milliseconds(300));
  group.run([&](Communicator& member) {
    const std::unique_ptr<Communicator> bad = member.split({0, 1}), good = member.split({0, 1});
    if (member.rank() == 0) {
      float value = 0;
      const Status status = bad->all_reduce(&value, 1, DType::kF32);
      ASSERT_FALSE(status.ok()) << "the other does not take part";
      EXPECT_EQ(status.failure().kind, comm::FailureKind::kTimeout);
      EXPECT_EQ(status.failure().peer, 1);
      EXPECT_FALSE(bad->barrier().ok()) << "a failure stays";
    }
    good->set_timeout(patience());
    member.set_timeout(patience());
    EXPECT_TRUE(good->barrier().ok());
    EXPECT_TRUE(member.barrier().ok());
  });
}

}  // namespace
}  // namespace thalweg::testing
