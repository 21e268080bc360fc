// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace thalweg {

/// Limits what the calling thread may do while the object lives, for work that untrusted bytes ask for. Nested objects
/// only narrow the limits. Must be destroyed by the thread that made it, in the reverse order.
class ScopedLimits {
 public:
  /// 0: no further limit.
  ScopedLimits(size_t max_bytes, double max_seconds);
  ~ScopedLimits();
  ScopedLimits(const ScopedLimits&) = delete;
  ScopedLimits& operator=(const ScopedLimits&) = delete;

 private:
  size_t outer_bytes_;
  std::chrono::steady_clock::time_point outer_deadline_;
};

/// Throws if one piece of memory of this size is more than the calling thread may have.
void require_memory(size_t bytes);

/// The largest piece that it may have.
size_t memory_limit();

/// Throws if the calling thread's time is up.
void require_time();

/// The calling thread has so much more time, because it spent it on something else.
void extend_time(std::chrono::steady_clock::duration time);

/// Of the machine, or of the process's control group if that is less.
size_t machine_memory();

}  // namespace thalweg
