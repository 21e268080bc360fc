// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "threads/spin.h"

#include <sched.h>
#include <time.h>

#include <atomic>

namespace thalweg::threads {
namespace {

// All times are in nanoseconds.
/// Longer than nearly all pauses between two parallel steps of one network, shorter than anybody notices.
constexpr int64_t kUsualSpin = 100'000;
/// A few times what sleeping and waking cost. Beside two busy loops on two cores 5 to 100 us made little difference to
/// a network of many small steps; the less, the less processor time it took (11.5 ms a run with 5 us, 13 ms with 30
/// us).
constexpr int64_t kScarceSpin = 20'000;
/// Two looks at the clock are less than 2 us apart unless the thread was taken off its processor.
constexpr int64_t kTakenOff = 50'000;
/// For how long one such event counts: a few of the scheduler's periods.
constexpr int64_t kMemory = 30'000'000;

constinit std::atomic<int64_t> scarce_until{0};
constinit std::atomic<int> engaged_threads{0};

int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

bool scarce_at(int64_t time) {
  return time < scarce_until.load(std::memory_order_relaxed) ||
         engaged_threads.load(std::memory_order_relaxed) > processors();
}

int count_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return ::sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) > 0 ? CPU_COUNT(&mask) : 1;
}

constinit std::atomic<int> processor_count{0};

}  // namespace

int processors() {
  int count = processor_count.load(std::memory_order_relaxed);
  if (count == 0) {
    count = count_processors();
    processor_count.store(count, std::memory_order_relaxed);
  }
  return count;
}

bool Spin::look_at_clock() {
  const int64_t time = now();
  if (last_ == 0) begin_ = last_ = time;
  if (time - last_ > kTakenOff) scarce_until.store(time + kMemory, std::memory_order_relaxed);
  last_ = time;
  return time - begin_ < (scarce_at(time) ? kScarceSpin : kUsualSpin);
}

void note_contention() { scarce_until.store(now() + kMemory, std::memory_order_relaxed); }

bool processors_are_scarce() { return scarce_at(now()); }

void count_engaged(int threads) { engaged_threads.fetch_add(threads, std::memory_order_relaxed); }

void reset_contention(int engaged) {
  scarce_until.store(0, std::memory_order_relaxed);
  engaged_threads.store(engaged, std::memory_order_relaxed);
}

}  // namespace thalweg::threads
