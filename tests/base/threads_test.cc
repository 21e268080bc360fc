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
  const ThreadLease lease(3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  std::atomic<int> given{0};
#pragma omp parallel
  given += omp_get_num_threads();
  EXPECT_EQ(given, 9);
  const FewerThreads fewer(2);
  given = 0;
#pragma omp parallel
  given += omp_get_num_threads();
  EXPECT_EQ(given, 4);
}

TEST(Threads, AParallelRegionCannotHoldAnother) {
  std::string text[2];
#pragma omp parallel num_threads(2)
  text[omp_get_thread_num()] = error_text([] { const ThreadLease lease(2); });
  for (const std::string& each : text) EXPECT_THAT(each, ::testing::HasSubstr("inside a parallel region"));
}

TEST(Threads, ALeaseThatTheSystemCannotGrantIsAnError) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  const NoMoreThreads limit;
  const std::string text = error_text([] { const ThreadLease lease(900); });
  EXPECT_THAT(text, ::testing::HasSubstr("the system gives no further thread"));
  EXPECT_THAT(text, ::testing::HasSubstr("900 are asked for"));
  const ThreadLease small(1);
}

TEST(Threads, SillyNumbersAreErrors) {
  EXPECT_THAT(error_text([] { const ThreadLease lease(0); }), ::testing::HasSubstr("at least 1"));
  EXPECT_THAT(error_text([] { const ThreadLease lease(100000); }), ::testing::HasSubstr("at most 1024"));
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
