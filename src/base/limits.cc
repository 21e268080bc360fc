// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/cgroup.h"
#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;

thread_local size_t most_bytes = std::numeric_limits<size_t>::max();
thread_local Clock::time_point deadline = Clock::time_point::max();

}  // namespace

ScopedLimits::ScopedLimits(size_t max_bytes, double max_seconds) : outer_bytes_(most_bytes), outer_deadline_(deadline) {
  if (max_bytes > 0) most_bytes = std::min(most_bytes, max_bytes);
  if (max_seconds <= 0) return;
  const std::chrono::duration<double> time(max_seconds);
  deadline = std::min(deadline, Clock::now() + std::chrono::duration_cast<Clock::duration>(time));
}

ScopedLimits::~ScopedLimits() {
  most_bytes = outer_bytes_;
  deadline = outer_deadline_;
}

void require_memory(size_t bytes) {
  TW_REQUIRE(bytes <= most_bytes, "needs ", human_bytes(static_cast<double>(bytes)),
             " of memory in one piece, more than the limit of ", human_bytes(static_cast<double>(most_bytes)));
}

size_t memory_limit() { return most_bytes; }

void require_time() {
  if (deadline == Clock::time_point::max()) return;
  TW_REQUIRE(Clock::now() < deadline, "takes longer than the time it was given");
}

void extend_time(Clock::duration time) {
  if (deadline != Clock::time_point::max()) deadline += time;
}

namespace {

size_t find_machine_memory() {
  const auto pages = static_cast<size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const size_t machine = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto group = static_cast<size_t>(cgroup_limits().memory_bytes);
  return group > 0 ? std::min(machine, group) : machine;
}

}  // namespace

size_t machine_memory() {
  // Every prediction asks, and the answer is in several files.
  static const size_t memory = find_machine_memory();
  return memory;
}

}  // namespace thalweg
