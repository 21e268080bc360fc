// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cpu.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

TEST(UsablePrecision, IsBf16OnlyWhereTheCpuHasItOrTheUserInsists) {
  ::unsetenv("THALWEG_BF16");
  EXPECT_EQ(usable_precision(Precision::kF32), Precision::kF32);
  EXPECT_EQ(usable_precision(Precision::kBF16), cpu_computes_in_bf16() ? Precision::kBF16 : Precision::kF32);
  ::setenv("THALWEG_BF16", "emulate", 1);
  EXPECT_EQ(usable_precision(Precision::kBF16), Precision::kBF16);
  ::unsetenv("THALWEG_BF16");
}

}  // namespace
}  // namespace thalweg
