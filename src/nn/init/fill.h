// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/threads.h"

namespace thalweg::nn {

/// Calls body(begin, end) for ranges that cover [0, size), from several threads where that pays.
template <typename Body>
void for_ranges(int64_t size, const Body& body) {
  constexpr int64_t kRange = int64_t{1} << 15;
  const int64_t ranges = (size + kRange - 1) / kRange;
  std::atomic<int64_t> next{0};
  run_on_threads(static_cast<int>(std::min<int64_t>(ranges, available_processors())), [&] {
    for (int64_t r = next++; r < ranges; r = next++) body(r * kRange, std::min(size, (r + 1) * kRange));
  });
}

}  // namespace thalweg::nn
