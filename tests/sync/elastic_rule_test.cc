// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/peer_rules.h"

namespace thalweg::testing {
namespace {

float own_number(int rank) { return static_cast<float>(3 * rank + 1); }

/// Of all workers' weights, and of the center.
double sum_of_all(RuleGroup& group) {
  double sum = 0;
  for (size_t rank = 0; rank < group.weights.size(); ++rank) {
    sum += sum_of(group.weights[rank]) + sum_of(group.own<float>(rank, "center_part"));
  }
  return sum;
}

TEST(ElasticRule, AnExchangeConservesTheSumOfWeightsAndCenter) {
  for (const int workers : {1, 2, 4, 5}) {
    RuleGroup group("elastic", workers, own_number, {{"period", 2}});
    // The first two steps begin an exchange; then all of them pull at once, and some late.
    const double before = sum_of_all(group);
    for (int step = 0; step < 12; ++step) {
      group.step_of_all();
      if (step % 3 == 2) {
        group.deliver_all();
        EXPECT_NEAR(sum_of_all(group), before, 1e-4 * before) << workers << " workers, step " << step;
      }
    }
    if (workers > 1) {
      EXPECT_NE(group.weights[1][0], own_number(1)) << "nothing was exchanged";
    }
  }
}

TEST(ElasticRule, ADifferenceIsTakenBeforeTheStepAndAppliedAfterIt) {
  // One worker at 1, the center at 0 since nobody else moves it: alpha is beta.
  RuleGroup group("elastic", 1, [](int) { return 0.0F; }, {{"period", 1}, {"beta", 0.5}});
  group.step(0, 1);
  group.deliver();
  EXPECT_EQ(group.own<float>(0, "center_part").at(0), 0.5F);
  for (float& value : group.weights[0]) value += 10;
  group.deliver();
  EXPECT_EQ(group.weights[0][0], 10.5F) << "half of what it was before the step, taken off after it";
}

TEST(ElasticRule, WithoutElasticityWorkersAreIndependent) {
  RuleGroup group("elastic", 3, own_number, {{"period", 1}, {"beta", 0}});
  for (int step = 0; step < 5; ++step) {
    group.step_of_all(0.25F);
    group.deliver_all();
  }
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(group.weights[static_cast<size_t>(rank)][0], own_number(rank) + 5 * 0.25F);
  }
}

TEST(ElasticRule, MomentumIsThatOfNesterov) {
  // On the slope of x * x / 2, with a rate of 0.1.
  RuleGroup group("elastic", 1, [](int) { return 1.0F; }, {{"period", 1000}, {"momentum", 0.9}});
  double x = 1, v = 0;
  for (int step = 0; step < 20; ++step) {
    group.step(0, -0.1F * group.weights[0][0]);
    v = 0.9 * v - 0.1 * (x + 0.9 * v);
    x += v;
    // The model is where the next gradient is taken.
    EXPECT_NEAR(group.weights[0][0], x + 0.9 * v, 1e-5) << step;
  }
}

TEST(ElasticRule, NobodyWaitsForACenterThatDoesNotAnswer) {
  RuleGroup group("elastic", 2, own_number, {{"period", 1}});
  for (int step = 0; step < 10; ++step) group.step_of_all(1);
  EXPECT_EQ(group.weights[0][0], own_number(0) + 10);
  EXPECT_EQ(group.on_their_way(), 4U) << "one exchange is under way, of two parts for each worker";
}

TEST(ElasticRule, WhatNobodyHasAskedForIsRefused) {
  const RuleGroup group("elastic", 2, own_number);
  sync::Bytes contents;
  EXPECT_FALSE(group.rules[0]->handle(1, contents).ok());
  sync::put_number(contents, uint64_t{2});
  contents.resize(sizeof(uint64_t) + 5 * sizeof(float));
  EXPECT_FALSE(group.rules[0]->handle(1, contents).ok());
}

}  // namespace
}  // namespace thalweg::testing
