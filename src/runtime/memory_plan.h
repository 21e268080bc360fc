// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg {

/// A block of memory that is needed from step `first` to step `last`, both included.
struct Interval {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< of each interval, multiples of 64
  size_t total_bytes = 0;
};

/// Places intervals so that those alive at the same step do not overlap: largest first, each in the lowest gap that
/// holds it.
MemoryPlan plan_memory(const std::vector<Interval>& intervals);

}  // namespace thalweg
