// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace thalweg::nn {

/// Calls body(begin, end) for ranges that cover [0, size), from several threads where that pays. Not from OpenMP's: a
/// graph may be built on a thread that a fork has copied, where OpenMP waits forever for threads of the parent.
template <typename Body>
void for_ranges(int64_t size, const Body& body) {
  constexpr int64_t kRange = int64_t{1} << 15;
  const int64_t ranges = (size + kRange - 1) / kRange;
  const int64_t threads = std::min<int64_t>(ranges, available_processors());
  const auto run = [&](int64_t thread) {
    body(ranges * thread / threads * kRange, std::min(size, ranges * (thread + 1) / threads * kRange));
  };
  if (threads <= 1) {
    body(int64_t{0}, size);
    return;
  }
  std::vector<std::jthread> others;
  for (int64_t thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
}

}  // namespace thalweg::nn
