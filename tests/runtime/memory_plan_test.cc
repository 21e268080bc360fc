// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace thalweg {
namespace {

bool overlap(size_t a, size_t a_size, size_t b, size_t b_size) { return a < b + b_size && b < a + a_size; }

TEST(MemoryPlan, ReusesMemoryOfWhatIsDead) {
  const auto plan = plan_memory({{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}});
  EXPECT_EQ(plan.total_bytes, 1024U);
}

TEST(MemoryPlan, LiveIntervalsNeverOverlap) {
  std::mt19937 engine(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(engine() % 40);
      intervals.push_back({engine() % 5000 + 1, first, first + static_cast<int>(engine() % 10)});
    }
    const auto plan = plan_memory(intervals);
    for (size_t i = 0; i < intervals.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 64, 0U);
      EXPECT_LE(plan.offsets[i] + intervals[i].bytes, plan.total_bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool together = intervals[i].first <= intervals[j].last && intervals[j].first <= intervals[i].last;
        if (!together) continue;
        EXPECT_FALSE(overlap(plan.offsets[i], intervals[i].bytes, plan.offsets[j], intervals[j].bytes));
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
