// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The one pool behind all regions of a process: many callers, forks, limits, other runtimes.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/program.h"
#include "support/child_process.h"
#include "support/no_more_threads.h"
#include "support/op_check.h"
#include "support/patience.h"
#include "support/sanitized.h"
#include "thalweg/ops.h"
#include "threads/busy_loops.h"
#include "threads/threads.h"

namespace thalweg::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds up 1 ... count in a region of `threads` with a barrier.
int64_t sum_to(int64_t count, int threads) {
  std::vector<int64_t> sums(static_cast<size_t>(threads));
  int64_t total = 0;
#pragma omp parallel num_threads(threads)
  {
    const int64_t number = omp_get_thread_num();
    for (int64_t i = 1 + number; i <= count; i += threads) sums[static_cast<size_t>(number)] += i;
#pragma omp barrier
    if (number == 0) {
      for (const int64_t sum : sums) total += sum;
    }
  }
  return total;
}

/// Waits for what must happen.
template <typename Condition>
bool happens(const Condition& condition) {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(Pool, ServesManyCallersAtATime) {
  constexpr int kCallers = 8, kThreads = 3;
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&wrong, i] {
        for (int round = 0; round < 40; ++round) {
          const bool reserved = (i + round) % 2 == 0 && thalweg_threads_reserve(kThreads) == 0;
          for (int again = 0; again < 5; ++again) wrong += sum_to(1000, kThreads) != 500500 ? 1 : 0;
          if (reserved) thalweg_threads_release();
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Pool, HasNoMoreThreadsThanWereWantedAtATime) {
  ASSERT_EQ(thalweg_threads_reserve(4), 0);
  thalweg_threads_release();
  const int started = thalweg_threads_started();
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      EXPECT_EQ(thalweg_threads_reserve(4), 0);
      EXPECT_EQ(sum_to(100, 4), 5050);
      thalweg_threads_release();
    }).join();
  }
  EXPECT_EQ(thalweg_threads_started(), started);
}

TEST(Pool, ReservationsNest) {
  ASSERT_EQ(thalweg_threads_reserve(2), 0);
  ASSERT_EQ(thalweg_threads_reserve(4), 0);
  const int started = thalweg_threads_started();
  EXPECT_EQ(sum_to(100, 4), 5050);
  thalweg_threads_release();
  EXPECT_EQ(sum_to(100, 4), 5050);
  thalweg_threads_release();
  EXPECT_EQ(sum_to(100, 4), 5050);
  EXPECT_EQ(thalweg_threads_started(), started);
}

TEST(Pool, AReservationThatCannotBeKeptIsRefused) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  const NoMoreThreads limit;
  EXPECT_EQ(thalweg_threads_reserve(thalweg_threads_started() + 2), EAGAIN);
  // What is there can still be had.
  ASSERT_EQ(thalweg_threads_reserve(thalweg_threads_started() + 1), 0);
  thalweg_threads_release();
}

TEST(Pool, AReservationMakesRegionsSafeFromLimits) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  ASSERT_EQ(thalweg_threads_reserve(4), 0);
  const NoMoreThreads limit;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> arrived{0};
#pragma omp parallel num_threads(4)
    {
      ++arrived;
      EXPECT_TRUE(eventually([&] { return arrived >= 4; }));
    }
  }
  thalweg_threads_release();
}

/// Runs `child` in a fork of this process; its result is the exit code, -1 if it does not end in time.
template <typename Child>
int in_fork(const Child& child) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child());
  int status = 0;
  const bool ended = happens([&] { return ::waitpid(pid, &status, WNOHANG) == pid; });
  if (!ended) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Pool, StartsAnewInAForkedProcess) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not follow threads of a fork";
  ASSERT_EQ(sum_to(1000, 3), 500500);
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(in_fork([] {
                if (thalweg_threads_started() != 0) return 1;
                return sum_to(1000, 3) == 500500 && thalweg_threads_started() == 2 ? 0 : 2;
              }),
              0);
  }
  EXPECT_EQ(sum_to(1000, 3), 500500);
}

TEST(Pool, SurvivesForksInTheMiddleOfRegions) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not follow threads of a fork";
  std::atomic<bool> end{false};
  std::atomic<int> wrong{0};
  {
    const std::jthread other([&] {
      while (!end) wrong += sum_to(100, 3) != 5050 ? 1 : 0;
    });
    for (int round = 0; round < 30; ++round) {
      ASSERT_EQ(thalweg_threads_reserve(3), 0);
      EXPECT_EQ(in_fork([] { return sum_to(1000, 3) == 500500 ? 0 : 1; }), 0);
      EXPECT_EQ(sum_to(1000, 3), 500500);
      thalweg_threads_release();
    }
    end = true;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Pool, NoticesWhereProcessorsAreScarce) {
  const unsigned processors = std::thread::hardware_concurrency();
  ASSERT_TRUE(happens([] { return !thalweg_threads_scarce(); }));
  // More threads reserved than there are processors.
  ASSERT_EQ(thalweg_threads_reserve(static_cast<int>(processors) + 1), 0);
  EXPECT_TRUE(thalweg_threads_scarce());
  thalweg_threads_release();
  EXPECT_TRUE(happens([] { return !thalweg_threads_scarce(); }));
  // Others that take the processors away.
  {
    const BusyLoops loops(3 * processors);
    EXPECT_TRUE(happens([] { return sum_to(100, 2) == 5050 && thalweg_threads_scarce(); }));
  }
  EXPECT_TRUE(happens([] { return !thalweg_threads_scarce(); }));
}

/// How many threads of this process have the pool's name.
int threads_named_thalweg() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "thalweg" ? 1 : 0;
  }
  return count;
}

/// Convolutions whose weight gradient oneDNN adds up over threads that wait for each other.
void train_a_convolution(int threads) {
  Graph graph("convolution");
  Value* x = graph.input("x", {DType::kF32, {4, 16, 20, 20}});
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {16, 16, 5, 5}, 1, -0.1, 0.1));
  Value* loss = ops::reduce_mean(ops::mul(ops::conv(x, w), ops::conv(x, w)));
  graph.mark_output(loss);
  prepare_for_training(graph, loss, Precision::kF32);
  auto variables = std::make_shared<Variables>(graph);
  CompileOptions options;
  options.threads = threads;
  options.training = true;
  Session session(Program::compile(graph.clone(), variables, options));
  for (int step = 0; step < 3; ++step) session.run(std::vector{random_tensor(DType::kF32, {4, 16, 20, 20}, 2)});
}

TEST(Pool, DISABLED_RunsOneDnnBesideLibgomp) {
  ASSERT_NE(::dlsym(RTLD_DEFAULT, "GOMP_parallel"), nullptr) << "libgomp is not there";
  ASSERT_EQ(threads_named_thalweg(), 0);
  const auto tasks = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<int>(std::distance(begin(all), end(all)));
  };
  const int before = tasks();
  train_a_convolution(4);
  EXPECT_EQ(thalweg_threads_started(), 3);
  EXPECT_EQ(threads_named_thalweg(), 3);
  EXPECT_EQ(tasks(), before + 3) << "another runtime has started threads";
}

TEST(Pool, ServesOneDnnWhereLibgompWasLoadedFirst) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers want to be loaded first";
  ChildProcess child("Pool.DISABLED_RunsOneDnnBesideLibgomp", {{"LD_PRELOAD", "libgomp.so.1"}});
  ASSERT_TRUE(child.started());
  EXPECT_EQ(child.wait(), 0);
}

TEST(Pool, RunsRegionsOfOneDnnBesideEachOtherAndBusyLoops) {
  const BusyLoops loops(std::thread::hardware_concurrency());
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back([] { train_a_convolution(2); });
}

}  // namespace
}  // namespace thalweg::testing
