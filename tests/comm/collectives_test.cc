// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "comm/layouts.h"
#include "tensor/dtype.h"

namespace thalweg::testing {
namespace {

using comm::Communicator;
using comm::ReduceOp;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

class Collectives : public InEveryLayout {};

INSTANTIATE_TEST_SUITE_P(Layouts, Collectives, ::testing::ValuesIn(layouts()), layout_name);

float value_at(int rank, size_t i) { return std::sin(static_cast<float>(i) * 0.37F + static_cast<float>(rank)); }

std::vector<float> values_of(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = value_at(rank, i);
  return values;
}

double sum_at(int size, size_t i) {
  double sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += static_cast<double>(value_at(rank, i));
  return sum;
}

/// Around the limits between algorithms, segments, chunks and stripes.
const size_t kCounts[] = {0, 1, 2, 3, 7, 1000, 2048, 5000, 131072, 400001};

TEST_P(Collectives, AllReduceGivesTheSameBitsToAll) {
  for (const size_t count : kCounts) {
    run([&](Communicator& member) {
      std::vector<float> values = values_of(member.rank(), count);
      const comm::Status status = member.all_reduce(values.data(), count, DType::kF32);
      ASSERT_TRUE(status.ok()) << status.failure().text();
      for (size_t i = 0; i < count; i += 1 + count / 500) {
        ASSERT_NEAR(values[i], sum_at(size(), i), 1e-5) << "element " << i << " of " << count;
      }
      std::vector<float> first = values;
      EXPECT_TRUE(member.broadcast(first.data(), count * sizeof(float), 0).ok());
      EXPECT_TRUE(same_bits(values, first)) << count;
    });
  }
}

TEST_P(Collectives, AllReduceGivesTheSameBitsEveryTime) {
  constexpr size_t kCount = 70000;
  std::vector<float> first;
  for (int repeat = 0; repeat < 3; ++repeat) {
    run([&](Communicator& member) {
      std::vector<float> values = values_of(member.rank(), kCount);
      EXPECT_TRUE(member.all_reduce(values.data(), kCount, DType::kF32).ok());
      if (member.rank() != 0) return;
      if (first.empty()) first = values;
      EXPECT_TRUE(same_bits(values, first));
    });
  }
}

TEST_P(Collectives, EveryTypeAndOperation) {
  constexpr size_t kCount = 3001;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI8, DType::kU8, DType::kI16,
                            DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      run([&](Communicator& member) {
        // Small whole numbers are exact in every type.
        Tensor values(DType::kI64, {kCount});
        for (size_t i = 0; i < kCount; ++i) {
          values.data<int64_t>()[i] = static_cast<int64_t>((i + static_cast<size_t>(member.rank())) % 2 + 1);
        }
        Tensor typed = values.to(dtype);
        EXPECT_TRUE(member.all_reduce(typed.raw(), kCount, dtype, op).ok());
        const Tensor result = typed.to(DType::kI64);
        for (size_t i = 0; i < kCount; ++i) {
          int64_t expected = op == ReduceOp::kSum ? 0 : 1;
          if (op == ReduceOp::kMax) expected = 2;
          for (int rank = 0; rank < member.size(); ++rank) {
            const auto value = static_cast<int64_t>((i + static_cast<size_t>(rank)) % 2 + 1);
            if (op == ReduceOp::kSum) expected += value;
            if (op == ReduceOp::kProduct) expected *= value;
          }
          ASSERT_EQ(result.data<int64_t>()[i], expected) << name_of(dtype) << " " << static_cast<int>(op) << " " << i;
        }
      });
    }
  }
}

TEST_P(Collectives, ReduceScatterThenAllGatherIsAllReduce) {
  for (const size_t count : kCounts) {
    run([&](Communicator& member) {
      std::vector<float> values = values_of(member.rank(), count);
      EXPECT_TRUE(member.reduce_scatter(values.data(), count, DType::kF32).ok());
      const comm::Part mine = comm::part_of(count, member.size(), member.rank());
      for (size_t i = mine.begin; i < mine.end; ++i) ASSERT_NEAR(values[i], sum_at(size(), i), 1e-5) << i;
      EXPECT_TRUE(member.all_gather(values.data(), count, DType::kF32).ok());
      for (size_t i = 0; i < count; i += 1 + count / 500) ASSERT_NEAR(values[i], sum_at(size(), i), 1e-5) << i;
    });
  }
}

TEST_P(Collectives, BroadcastReduceAndGatherFromAndToEveryRoot) {
  for (int root = 0; root < size(); ++root) {
    for (const size_t count : {size_t{1}, size_t{900}, size_t{200000}}) {
      run([&](Communicator& member) {
        std::vector<float> values = values_of(member.rank(), count);
        EXPECT_TRUE(member.reduce(values.data(), count, DType::kF32, ReduceOp::kSum, root).ok());
        if (member.rank() == root) {
          ASSERT_NEAR(values[count - 1], sum_at(size(), count - 1), 1e-5);
        }
        values = values_of(member.rank(), count);
        EXPECT_TRUE(member.broadcast(values.data(), count * sizeof(float), root).ok());
        ASSERT_EQ(values, values_of(root, count));
        std::vector<float> all(member.rank() == root ? count * static_cast<size_t>(size()) : 0);
        const std::vector<float> mine = values_of(member.rank(), count);
        EXPECT_TRUE(member.gather(mine.data(), count * sizeof(float), all.data(), root).ok());
        if (member.rank() != root) return;
        for (int rank = 0; rank < size(); ++rank) {
          ASSERT_EQ(all[static_cast<size_t>(rank) * count], value_at(rank, 0)) << rank;
        }
      });
    }
  }
}

TEST_P(Collectives, AllToAllAndBarrier) {
  constexpr size_t kEach = 40000;
  run([&](Communicator& member) {
    const auto n = static_cast<size_t>(size());
    std::vector<int32_t> outgoing(kEach * n), incoming(kEach * n);
    for (size_t to = 0; to < n; ++to) outgoing[to * kEach + 5] = static_cast<int32_t>(to) * 100 + member.rank();
    EXPECT_TRUE(member.all_to_all(outgoing.data(), incoming.data(), kEach * sizeof(int32_t)).ok());
    for (size_t from = 0; from < n; ++from) {
      ASSERT_EQ(incoming[from * kEach + 5], member.rank() * 100 + static_cast<int32_t>(from));
    }
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(member.barrier().ok());
  });
}

TEST_P(Collectives, MessagesAreMatchedByTag) {
  constexpr size_t kCount = 150000;
  run([&](Communicator& member) {
    const int next = (member.rank() + 1) % size();
    const int previous = (member.rank() + size() - 1) % size();
    if (member.rank() == 0) {
      const int32_t early = 1, late = 2;
      EXPECT_TRUE(member.send(1, 77, &early, sizeof early).ok());
      EXPECT_TRUE(member.send(1, 78, &late, sizeof late).ok());
    } else if (member.rank() == 1) {
      int32_t value = 0;
      EXPECT_TRUE(member.receive(0, 78, &value, sizeof value).ok());
      EXPECT_EQ(value, 2);
      EXPECT_TRUE(member.receive(0, 77, &value, sizeof value).ok());
      EXPECT_EQ(value, 1);
    }
    std::vector<float> mine = values_of(member.rank(), kCount), theirs(kCount);
    const size_t bytes = kCount * sizeof(float);
    EXPECT_TRUE(member.exchange(next, mine.data(), bytes, previous, theirs.data(), bytes, 5).ok());
    ASSERT_EQ(theirs, values_of(previous, kCount));
  });
}

TEST(Hierarchy, SendsBetweenHostsOnlyWhatTwoMembersWould) {
  constexpr size_t kCount = 300000;
  LocalGroup group({{0, 2, 4}, {1, 3, 5}});
  const auto bytes_of = [&](const std::function<comm::Status(Communicator&, std::vector<float>&)>& operation) {
    const size_t before = group.sent_between_hosts();
    group.run([&](Communicator& member) {
      std::vector<float> values(kCount);
      EXPECT_TRUE(operation(member, values).ok());
    });
    return static_cast<double>(group.sent_between_hosts() - before) / (kCount * sizeof(float));
  };
  using Values = std::vector<float>;
  const auto f32 = DType::kF32;
  EXPECT_NEAR(bytes_of([&](auto& m, Values& v) { return m.all_reduce(v.data(), kCount, f32); }), 2, 0.01);
  EXPECT_NEAR(bytes_of([&](auto& m, Values& v) { return m.reduce_scatter(v.data(), kCount, f32); }), 1, 0.01);
  EXPECT_NEAR(bytes_of([&](auto& m, Values& v) { return m.all_gather(v.data(), kCount, f32); }), 1, 0.01);
  EXPECT_NEAR(bytes_of([&](auto& m, Values& v) { return m.reduce(v.data(), kCount, f32, ReduceOp::kSum, 3); }), 1,
              0.01);
  EXPECT_NEAR(bytes_of([&](auto& m, Values& v) { return m.broadcast(v.data(), kCount * 4, 4); }), 1, 0.01);
}

TEST(Parts, CoverEverythingOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{10}, size_t{11}}) {
    size_t next = 0;
    for (int i = 0; i < 4; ++i) {
      const comm::Part part = comm::part_of(count, 4, i);
      EXPECT_EQ(part.begin, next);
      next = part.end;
    }
    EXPECT_EQ(next, count);
  }
}

}  // namespace
}  // namespace thalweg::testing
