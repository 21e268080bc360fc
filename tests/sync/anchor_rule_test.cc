// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/peer_rules.h"

namespace thalweg::testing {
namespace {

float own_number(int rank) { return static_cast<float>(rank * rank); }

TEST(AnchorRule, WithFullPullAndNoDelayItIsModelAveraging) {
  for (const int workers : {1, 2, 3, 6}) {
    RuleGroup group("anchor", workers, own_number, {{"period", 2}, {"pull", 1}});
    double mean = 0;
    for (int rank = 0; rank < workers; ++rank) mean += own_number(rank) / static_cast<double>(workers);
    group.step_of_all();
    EXPECT_EQ(group.weights.back()[0], own_number(workers - 1)) << "before the first round";
    group.step_of_all();
    group.deliver_all();
    group.step_of_all();
    for (const auto& weights : group.weights) EXPECT_NEAR(weights[0], mean, 1e-5) << workers;
  }
}

TEST(AnchorRule, WithoutPullWorkersAreIndependent) {
  RuleGroup group("anchor", 4, own_number, {{"period", 1}, {"pull", 0}});
  for (int step = 0; step < 6; ++step) {
    group.step_of_all(0.5F);
    group.deliver_all();
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(group.weights[static_cast<size_t>(rank)][0], own_number(rank) + 3) << rank;
  }
}

TEST(AnchorRule, TheAnchorFollowsTheLastMovementOfTheMean) {
  // One worker, which is the mean; it moves by 1 at every step but for the pull, which is small.
  RuleGroup group(
      "anchor", 1, [](int) { return 0.0F; }, {{"period", 4}, {"pull", 0.5}}, 1);
  for (int step = 0; step < 4; ++step) group.step(0, 1);
  group.deliver_all();
  // The mean is 4: half of the way back to it.
  group.step(0, 1);
  EXPECT_NEAR(group.weights[0][0], 4.5, 1e-6);
  for (int step = 0; step < 3; ++step) group.step(0, 1);
  group.deliver_all();
  const float second = group.weights[0][0];
  group.step(0, 1);
  // A quarter of a round later it is expected a quarter of its movement further.
  const float anchor = second + (second - 4) / 4;
  EXPECT_NEAR(group.weights[0][0], (second + 1 + anchor) / 2, 1e-5);
}

TEST(AnchorRule, NobodyWaitsForARoundThatDoesNotEnd) {
  RuleGroup group("anchor", 3, own_number, {{"period", 1}});
  for (int step = 0; step < 10; ++step) {
    group.step(0, 1);
    group.step(2, 1);
    group.deliver();
  }
  EXPECT_EQ(group.weights[0][0], 10);
  EXPECT_EQ(group.on_their_way(), 0U) << "one that has stopped makes messages gather";
}

TEST(AnchorRule, WeightsOfAnotherRoundOrPlaceAreRefused) {
  const RuleGroup group("anchor", 4, own_number);
  const auto says = [&](int from, int64_t kind, int64_t round) {
    sync::Bytes contents;
    for (const int64_t number : {kind, round, int64_t{1}}) sync::put_number(contents, number);
    contents.resize(3 * sizeof(int64_t) + 11 * sizeof(float));
    return group.rules[0]->handle(from, contents).ok();
  };
  EXPECT_FALSE(says(3, 1, 1)) << "3 is below 2";
  EXPECT_FALSE(says(2, 1, 5));
  EXPECT_FALSE(says(2, 2, 1)) << "a mean comes from the root only";
  EXPECT_TRUE(says(2, 1, 1));
}

}  // namespace
}  // namespace thalweg::testing
