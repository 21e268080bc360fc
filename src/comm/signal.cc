// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/signal.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "base/threads.h"

namespace thalweg::comm {
namespace {

/// A wake-up through the kernel takes about as long: waiting longer than that gains nothing.
constexpr std::chrono::microseconds kSpin{20};

bool spinning_helps() {
  static const bool several = available_processors() > 1;
  return several;
}

/// Not the private form: the word may lie in memory of several processes.
long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  return ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void Signal::set(uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  wake_sleepers();
}

void Signal::increment() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  wake_sleepers();
}

void Signal::wake_sleepers() {
  if (sleepers_.load(std::memory_order_seq_cst) > 0) wake_all();
}

void Signal::wake_all() { futex(value_, FUTEX_WAKE, INT_MAX, nullptr); }

void Signal::wait(uint32_t seen, std::chrono::nanoseconds longest) {
  using Clock = std::chrono::steady_clock;
  if (spinning_helps()) {
    const auto end = Clock::now() + std::min<std::chrono::nanoseconds>(kSpin, longest);
    do {
      for (int i = 0; i < 32; ++i) {
        if (value() != seen) return;
        _mm_pause();
      }
    } while (Clock::now() < end);
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const timespec timeout{static_cast<time_t>(longest.count() / 1000000000),
                         static_cast<long>(longest.count() % 1000000000)};
  if (value_.load(std::memory_order_seq_cst) == seen) futex(value_, FUTEX_WAIT, seen, &timeout);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace thalweg::comm
