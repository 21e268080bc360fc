// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "runtime/program_cache.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

constexpr int64_t kWidth = 33;

/// y = relu(x) + x * x, for so many rows.
std::shared_ptr<Program> program_for(int64_t rows) {
  auto graph = std::make_unique<Graph>("rows");
  Value* x = graph->input("x", {DType::kF32, {rows, kWidth}});
  graph->mark_output(ops::add(ops::relu(x), ops::mul(x, x)));
  auto variables = std::make_shared<Variables>(*graph);
  return Program::compile(std::move(graph), variables);
}

bool answers_right(SessionPool& pool, int64_t rows, uint64_t seed) {
  const Tensor x = random_tensor(DType::kF32, {rows, kWidth}, seed);
  const Tensor y = pool.run(std::vector<Tensor>{x})[0];
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const float value = x.data<float>()[i];
    if (std::abs(y.data<float>()[i] - (std::max(value, 0.0F) + value * value)) > 1e-6F) return false;
  }
  return true;
}

TEST(ArenaPool, GivesTheSameMemoryAgainUnlessMoreIsAskedFor) {
  ArenaPool arenas;
  AlignedBuffer first = arenas.take(1000);
  void* const there = first.data();
  arenas.give_back(std::move(first));
  AlignedBuffer again = arenas.take(10);
  EXPECT_EQ(again.data(), there);
  EXPECT_GE(again.bytes(), 1000U);
  AlignedBuffer second = arenas.take(10);
  EXPECT_NE(second.data(), there);
  arenas.give_back(std::move(again));
  EXPECT_GE(arenas.take(1 << 22).bytes(), size_t{1} << 22);
}

TEST(ArenaPool, ProgramsThatRunInTurnsAnswerRightWhateverTheMemoryHolds) {
  const auto arenas = std::make_shared<ArenaPool>();
  SessionPool small(program_for(3), arenas), large(program_for(70), arenas), own(program_for(5));
  for (uint64_t round = 0; round < 4; ++round) {
    AlignedBuffer memory = arenas->take(1);
    std::memset(memory.data(), 0xff, memory.bytes());  // as numbers they are none
    arenas->give_back(std::move(memory));
    EXPECT_TRUE(answers_right(small, 3, round));
    EXPECT_TRUE(answers_right(large, 70, round));
    EXPECT_TRUE(answers_right(own, 5, round));
  }
}

TEST(ArenaPool, StreamsDoNotMeetInIt) {
  const auto arenas = std::make_shared<ArenaPool>();
  SessionPool small(program_for(3), arenas), large(program_for(70), arenas);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; round < 200; ++round) {
        if (!answers_right(small, 3, round + t) || !answers_right(large, 70, round + t)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace thalweg::testing
