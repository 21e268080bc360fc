// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/trial/summary.h"

namespace thalweg::testing {
namespace {

using cli::SchemeSummary;
using cli::SchemeTraces;

/// A worker that makes 10 steps of 8 samples a second, ten bytes each, from one time to another.
cli::WorkerTrace steady(int worker, double begin, double end, double exchange_share) {
  cli::WorkerTrace trace{worker, 100 + worker, {}, {}};
  for (int64_t step = 0; begin + 0.1 * static_cast<double>(step) <= end + 1e-9; ++step) {
    const auto made = static_cast<double>(step);
    const double since = 0.1 * made;
    trace.records.push_back(
        {begin + since, step, 1 / (1 + since), 8 * made, 10 * made, 0.1 * since, exchange_share * since});
  }
  return trace;
}

TEST(TrialSummary, AddsUpWhatWorkersHaveDone) {
  const SchemeTraces traces{"allreduce", "", false, {steady(0, 50, 60, 0.2), steady(1, 50, 60, 0.4)}, {}, -1, 60};
  const SchemeSummary summary = summarise(traces, 10);
  EXPECT_NEAR(summary.seconds, 10, 1e-6);
  EXPECT_NEAR(summary.samples, 1600, 1e-6);
  EXPECT_NEAR(summary.sent_bytes, 2000, 1e-6);
  EXPECT_NEAR(summary.samples_per_second, 160, 1e-6);
  EXPECT_EQ(summary.steps, 100);
  EXPECT_NEAR(summary.exchanging, 0.2, 1e-6);
  EXPECT_NEAR(summary.waiting, 0.1, 1e-6);
  EXPECT_NEAR(summary.waiting_for_data, 0.1, 1e-6);
  EXPECT_NEAR(summary.computing, 0.6, 1e-6);
  EXPECT_FALSE(summary.kill);
  // Half of 1 is reached after a second, and averages follow a little later.
  EXPECT_NEAR(*seconds_to(summary, 0.5), 1.5, 0.3);
  EXPECT_FALSE(seconds_to(summary, 0.01));
}

TEST(TrialSummary, OfAKillTellsTheWorkThatIsMissing) {
  // One of two is away for two seconds, in which the other goes on at its pace: one second's work of both.
  SchemeTraces traces{"easgd", "", false, {steady(0, 50, 60, 0), steady(1, 50, 54, 0), steady(1, 56, 60, 0)},
                      54.0,    1,  60};
  const SchemeSummary summary = summarise(traces, 10);
  ASSERT_TRUE(summary.kill);
  EXPECT_NEAR(summary.kill->seconds, 1, 1e-6);
  EXPECT_NEAR(summary.kill->pause, 0.1, 1e-6);
  EXPECT_NEAR(*summary.kill->back_after, 2.1, 1e-6);
  traces.workers.pop_back();
  EXPECT_FALSE(summarise(traces, 10).kill->back_after);
  EXPECT_NEAR(summarise(traces, 10).kill->seconds, 3, 1e-6);
}

TEST(TrialSummary, TheTargetIsWhatHalfOfTheSchemesHaveComeTo) {
  std::vector<SchemeSummary> summaries(4);
  const double losses[] = {0.4, 0.1, 0.3, 0};
  for (size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].loss = losses[i];
    summaries[i].points.emplace_back();
  }
  summaries[3].failure = "it failed";
  EXPECT_EQ(median_loss(summaries), 0.3);
  EXPECT_EQ(cli::median_loss({}), std::nullopt);
}

}  // namespace
}  // namespace thalweg::testing
