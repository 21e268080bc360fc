// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/block_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "support/error_text.h"
#include "support/no_more_threads.h"
#include "support/patience.h"
#include "support/sanitized.h"

namespace thalweg::data {
namespace {

BlockPtr block_of(size_t number) {
  auto block = std::make_shared<Block>();
  block->rows = 1;
  block->tensors = {Tensor::full<int64_t>({1, 1}, static_cast<int64_t>(number))};
  return block;
}

int64_t value_of(const BlockPtr& block) { return block->tensors[0].data<int64_t>()[0]; }

/// Where threads wait until it is opened.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int waiting = 0;

  void pass() {
    std::unique_lock<std::mutex> lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    --waiting;
    changed.notify_all();
  }
  void await(int count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_for(lock, testing::patience(), [&] { return waiting == count; });
  }
  void release() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      open = true;
      changed.notify_all();
    }
    await(0);
  }
};

TEST(BlockStore, LoadsWhatIsAskedForAndSomeAhead) {
  std::atomic<int> loads{0};
  {
    BlockStore store({.count = 10, .ahead = 3, .memory_bytes = 1 << 20}, [&](size_t number) {
      ++loads;
      return block_of(number);
    });
    for (const size_t number : {4, 4, 5, 0, 9, 4}) EXPECT_EQ(value_of(store.get(number)), static_cast<int64_t>(number));
  }
  EXPECT_GE(loads, 4);
  EXPECT_LE(loads, 10) << "each once";
}

TEST(BlockStore, WhatFailedIsTriedAgain) {
  std::atomic<bool> broken{true};
  BlockStore store({.count = 4, .memory_bytes = 1 << 20}, [&](size_t number) {
    TW_REQUIRE(!broken || number != 1, "block 1 is broken");
    return block_of(number);
  });
  EXPECT_EQ(testing::error_text([&] { store.get(1); }), "block 1 is broken");
  broken = false;
  EXPECT_EQ(value_of(store.get(3)), 3);
  EXPECT_EQ(value_of(store.get(1)), 1);
}

// The thread that loads is stuck for longer than the test takes.
TEST(BlockStore, WaitsNoLongerThanItWasTold) {
  const auto gate = std::make_shared<Gate>();
  {
    BlockStore store({.count = 4, .memory_bytes = 1 << 20, .patience = std::chrono::seconds(1), .name = "some/table"},
                     [gate](size_t number) {
                       gate->pass();
                       return block_of(number);
                     });
    EXPECT_EQ(testing::error_text([&] { store.get(2); }), "some/table: block 2 of 4 was not read within 1 s");
  }
  gate->release();
}

TEST(BlockStore, AForkedProcessDoesNotWaitForTheThreadsOfItsParent) {
  if (testing::kSanitized) GTEST_SKIP() << "a forked process of theirs starts no threads";
  const auto gate = std::make_shared<Gate>();
  const pid_t parent = ::getpid();
  BlockStore store({.count = 4, .ahead = 2, .memory_bytes = 1 << 20}, [=](size_t number) {
    if (number > 0 && ::getpid() == parent) gate->pass();
    return block_of(number);
  });
  EXPECT_EQ(value_of(store.get(0)), 0);
  gate->await(1);  // the block ahead is on its way
  const pid_t child = ::fork();
  if (child == 0) ::_exit(value_of(store.get(1)) == 1 && value_of(store.get(0)) == 0 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  gate->release();
}

TEST(BlockStore, WithoutThreadsTheCallerLoads) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  BlockStore store({.count = 4, .memory_bytes = 1 << 20}, block_of);
  const testing::NoMoreThreads limit;
  EXPECT_EQ(value_of(store.get(2)), 2);
}

}  // namespace
}  // namespace thalweg::data
