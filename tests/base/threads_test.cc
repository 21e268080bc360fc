// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "support/error_text.h"

namespace thalweg::testing {
namespace {

TEST(Threads, RegionsGetWhatWasAskedFor) {
  const int before = omp_get_max_threads();
  omp_set_dynamic(1);
  use_threads(3);
  int given = 0;
#pragma omp parallel
#pragma omp single
  given = omp_get_num_threads();
  EXPECT_EQ(given, 3);
  omp_set_num_threads(before);
}

TEST(Threads, AParallelRegionCannotHoldAnother) {
  std::string text;
#pragma omp parallel num_threads(2)
#pragma omp single
  text = error_text([] { use_threads(2); });
  EXPECT_THAT(text, ::testing::HasSubstr("inside an OpenMP parallel region"));
}

}  // namespace
}  // namespace thalweg::testing
