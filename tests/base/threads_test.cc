// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>

#include "support/error_text.h"
#include "support/no_more_threads.h"
#include "support/sanitized.h"

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

TEST(Threads, AsManyCallsAsThreads) {
  std::atomic<int> calls{0};
  run_on_threads(3, [&] { ++calls; });
  EXPECT_EQ(calls, 3);
  run_on_threads(1, [&] { ++calls; });
  EXPECT_EQ(calls, 4);
}

TEST(Threads, WhatACallThrowsComesOutAfterTheOthersHaveEnded) {
  std::atomic<int> ended{0};
  const auto fail = [&] {
    if (++ended == 1) raise("the first one failed");
  };
  EXPECT_EQ(error_text([&] { run_on_threads(4, fail); }), "the first one failed");
  EXPECT_EQ(ended, 4);
}

TEST(Threads, WithoutAnotherThreadTheCallingOneDoesTheWork) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  const NoMoreThreads limit;
  int calls = 0;
  run_on_threads(3, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace thalweg::testing
