// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace thalweg::nn {

/// Calls body(begin, end) for ranges that cover [0, size), from several threads where that pays.
template <typename Body>
void for_ranges(int64_t size, const Body& body) {
  constexpr int64_t kRange = int64_t{1} << 15;
  const int64_t ranges = (size + kRange - 1) / kRange;
  const int threads = static_cast<int>(std::min<int64_t>(ranges, available_processors()));
  if (threads <= 1) {
    body(int64_t{0}, size);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t r = 0; r < ranges; ++r) body(r * kRange, std::min(size, (r + 1) * kRange));
}

}  // namespace thalweg::nn
