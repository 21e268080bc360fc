// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace thalweg {

/// Runs `body(part, begin, end)` for as many even parts of [0, count) as there are threads, at the same time if the
/// work, in elements, is worth waking them. `body` must not throw.
template <typename Body>
void in_ranges(int64_t count, int64_t elements, int threads, Body body) {
  constexpr int64_t kWorthwhile = 16384;
  const int64_t parts = elements < kWorthwhile ? 1 : std::clamp<int64_t>(threads, 1, std::max<int64_t>(count, 1));
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) body(part, count * part / parts, count * (part + 1) / parts);
}

}  // namespace thalweg
