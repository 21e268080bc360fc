// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "thalweg/tensor.h"

namespace thalweg {
namespace {

using testing::error_text;
using ::testing::HasSubstr;

TEST(Limits, BoundTheMemoryOfTensorsWhileTheyLast) {
  const auto allocate = [] { Tensor(DType::kF32, {1 << 20}); };
  {
    const ScopedLimits outer(1 << 20, 0);
    const ScopedLimits wider(1 << 30, 0);
    EXPECT_THAT(error_text(allocate), HasSubstr("more than the limit of"));
  }
  EXPECT_EQ(error_text(allocate), "no error");
}

TEST(Limits, TimeRunsOut) {
  EXPECT_EQ(error_text(require_time), "no error");
  const ScopedLimits limits(0, 1e-9);
  EXPECT_THAT(error_text(require_time), HasSubstr("longer"));
}

TEST(Limits, WhatIsSpentOnSomethingElseDoesNotCount) {
  extend_time(std::chrono::hours(1));
  EXPECT_EQ(error_text(require_time), "no error") << "nothing is limited yet";
  const ScopedLimits limits(0, 1e-9);
  extend_time(std::chrono::hours(1));
  EXPECT_EQ(error_text(require_time), "no error");
}

TEST(Limits, TheMachineHasMemory) { EXPECT_GE(machine_memory(), size_t{1} << 26); }

}  // namespace
}  // namespace thalweg
