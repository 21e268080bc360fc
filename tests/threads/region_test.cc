// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What parallel regions promise: oneDNN and the compiler rely on it as they do on libgomp's.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <xmmintrin.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/no_more_threads.h"
#include "support/sanitized.h"
#include "threads/busy_loops.h"
#include "threads/threads.h"

namespace thalweg::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// How often each number of a region of `threads` came, and the team's size as each part saw it.
void expect_exact_team(int threads) {
  std::vector<int> came(static_cast<size_t>(threads)), sizes(static_cast<size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    const auto number = static_cast<size_t>(omp_get_thread_num());
    ++came.at(number);
    sizes.at(number) = omp_get_num_threads();
  }
  EXPECT_EQ(came, std::vector<int>(static_cast<size_t>(threads), 1));
  EXPECT_EQ(sizes, std::vector<int>(static_cast<size_t>(threads), threads));
}

TEST(Regions, HaveExactlyTheThreadsThatWereAskedFor) {
  for (int round = 0; round < 200; ++round) {
    for (const int threads : {1, 2, 3, 5, 8}) expect_exact_team(threads);
  }
  EXPECT_EQ(omp_get_thread_num(), 0);
  EXPECT_EQ(omp_get_num_threads(), 1);
  EXPECT_FALSE(omp_in_parallel());
}

TEST(Regions, HaveTheThreadsOfTheCallerWhereTheyDoNotSay) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  std::atomic<int> sum{0};
#pragma omp parallel
  { sum += omp_get_num_threads() * 10 + omp_get_max_threads(); }
  EXPECT_EQ(sum, 3 * 33);
  // Another thread's number is its own.
  int other = 0;
  std::thread([&] { other = omp_get_max_threads(); }).join();
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  EXPECT_EQ(other, CPU_COUNT(&usable));
  omp_set_num_threads(before);
}

TEST(Regions, InsideOfRegionsRunOnOneThread) {
  std::array<std::array<int, 3>, 3> seen{};
#pragma omp parallel num_threads(3)
  {
    const auto outer = static_cast<size_t>(omp_get_thread_num());
    seen[outer][2] = omp_in_parallel();
#pragma omp parallel num_threads(4)
    {
#pragma omp barrier
      seen[outer][0] += omp_get_num_threads();
      seen[outer][1] += omp_get_thread_num() + omp_in_parallel();
    }
    EXPECT_EQ(omp_get_thread_num(), static_cast<int>(outer));
    EXPECT_EQ(omp_get_num_threads(), 3);
  }
  for (const auto& part : seen) EXPECT_EQ(part, (std::array<int, 3>{1, 1, 1}));
}

/// All parts meet, without sleep and without the library's help, as in some of oneDNN's kernels.
void meet(std::atomic<int>& arrived, int all) {
  ++arrived;
  while (arrived.load() < all) _mm_pause();
}

TEST(Regions, PartsMayWaitForEachOther) {
  const int threads = 3, rounds = kSanitized ? 20 : 60;
  ASSERT_EQ(thalweg_threads_reserve(threads), 0);
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> first{0}, second{0};
#pragma omp parallel num_threads(threads)
    {
      meet(first, threads);
      meet(second, threads);
    }
    EXPECT_EQ(second, threads);
  }
  thalweg_threads_release();
}

TEST(Regions, SomePartsMayWaitForSomeOthers) {
  // Numbers 1 and 2 wait for each other, 0 and 3 for nobody: the caller may have taken one of the two.
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> arrived{0};
#pragma omp parallel num_threads(4)
    {
      const int number = omp_get_thread_num();
      if (number == 1 || number == 2) meet(arrived, 2);
    }
    EXPECT_EQ(arrived, 2);
  }
}

TEST(Regions, BarriersHoldAllParts) {
  constexpr int kThreads = 4, kPhases = 50;
  for (int round = 0; round < 20; ++round) {
    std::array<std::atomic<int>, kThreads> phase{};
    std::atomic<int> wrong{0};
#pragma omp parallel num_threads(kThreads)
    {
      const auto number = static_cast<size_t>(omp_get_thread_num());
      for (int p = 1; p <= kPhases; ++p) {
        phase[number].store(p, std::memory_order_relaxed);
#pragma omp barrier
        for (const auto& other : phase) wrong += other.load(std::memory_order_relaxed) < p ? 1 : 0;
#pragma omp barrier
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Regions, PlainMemoryIsSeenAcrossBarriersAndEnds) {
  constexpr int kThreads = 3;
  std::array<int, kThreads> values{}, sums{};
  for (int round = 1; round < 200; ++round) {
#pragma omp parallel num_threads(kThreads)
    {
      const auto number = static_cast<size_t>(omp_get_thread_num());
      values[number] = round;
#pragma omp barrier
      sums[number] = values[0] + values[1] + values[2];
    }
    for (const int sum : sums) ASSERT_EQ(sum, 3 * round);
  }
}

TEST(Regions, ComputeAsTheirCaller) {
  const unsigned before = _mm_getcsr();
  constexpr unsigned kFlushToZero = 0x8000;
  for (const unsigned wanted : {before | kFlushToZero, before}) {
    _mm_setcsr(wanted);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> different{0};
#pragma omp parallel num_threads(3)
      different += (_mm_getcsr() & kFlushToZero) != (wanted & kFlushToZero) ? 1 : 0;
      EXPECT_EQ(different, 0);
    }
  }
  _mm_setcsr(before);
}

TEST(Regions, TheCallerTakesPartsWhoseThreadsHaveNotCome) {
  // A thread that sleeps needs longer to come than this region lasts, nearly always.
  const auto self = std::this_thread::get_id();
  const auto end = Clock::now() + std::chrono::seconds(60);
  bool taken = false;
  while (!taken && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::array<std::thread::id, 2> ran{};
#pragma omp parallel num_threads(2)
    ran[static_cast<size_t>(omp_get_thread_num())] = std::this_thread::get_id();
    taken = ran[1] == self;
  }
  EXPECT_TRUE(taken);
}

TEST(Regions, ThreadsThatSleepComeAgain) {
  ASSERT_EQ(thalweg_threads_reserve(3), 0);
  for (int round = 0; round < 50; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived{0};
#pragma omp parallel num_threads(3)
    meet(arrived, 3);
  }
  thalweg_threads_release();
}

TEST(Regions, WithoutAnotherThreadTheCallerRunsAllParts) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  const NoMoreThreads limit;
  expect_exact_team(thalweg_threads_started() + 5);
}

TEST(Regions, AreRightBesideBusyLoops) {
  const BusyLoops loops(2 * std::thread::hardware_concurrency());
  const auto end = Clock::now() + std::chrono::seconds(2);
  for (int64_t round = 0; Clock::now() < end; ++round) {
    expect_exact_team(static_cast<int>(2 + round % 3));
    std::atomic<int> arrived{0};
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
      ++arrived;
    }
    ASSERT_EQ(arrived, 2);
  }
}

}  // namespace
}  // namespace thalweg::testing
