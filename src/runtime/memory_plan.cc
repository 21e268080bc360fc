// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace thalweg {
namespace {

constexpr size_t kAlignment = 64;
size_t align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

MemoryPlan plan_memory(const std::vector<Interval>& intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });

  MemoryPlan plan;
  plan.offsets.assign(intervals.size(), 0);
  std::vector<size_t> placed;  // kept sorted by offset
  for (size_t index : order) {
    const Interval& wanted = intervals[index];
    const size_t bytes = align(wanted.bytes);
    size_t offset = 0;
    for (size_t other : placed) {
      const Interval& taken = intervals[other];
      if (taken.last < wanted.first || wanted.last < taken.first) continue;
      if (plan.offsets[other] >= offset + bytes) break;
      offset = std::max(offset, plan.offsets[other] + align(taken.bytes));
    }
    plan.offsets[index] = offset;
    plan.total_bytes = std::max(plan.total_bytes, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](size_t value, size_t other) { return value < plan.offsets[other]; }),
                  index);
  }
  return plan;
}

}  // namespace thalweg
