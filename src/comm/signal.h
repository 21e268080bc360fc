// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace thalweg::comm {

/// A counter in memory that processes share, on which one can wait. All zero is its initial state. It holds no lock: a
/// process that dies with one at hand leaves nothing behind but perhaps a needless wake.
class Signal {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  /// What was written before is visible to whoever sees the new value.
  void set(uint32_t value);
  void increment();
  /// Lets all waits look again.
  void wake_all();
  /// Returns once the value is another than `seen`, at the latest after `longest`, and now and then for no reason.
  /// Spins for a few microseconds, which most waits between processors take, before it sleeps.
  void wait(uint32_t seen, std::chrono::nanoseconds longest);

 private:
  void wake_sleepers();

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

/// True if `value` has reached `target`; counters wrap around.
inline bool reached(uint32_t value, uint32_t target) { return static_cast<int32_t>(value - target) >= 0; }

}  // namespace thalweg::comm
