// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/peer_rules.h"

namespace thalweg::testing {
namespace {

float own_number(int rank) { return static_cast<float>(rank * rank + 1); }

/// The sums of shares, and of weights times shares, with the messages on their way.
struct Sums {
  double shares = 0, weights = 0;
};
Sums sums(RuleGroup& group) {
  Sums result;
  for (size_t rank = 0; rank < group.weights.size(); ++rank) {
    const double share = group.own<double>(rank, "share").at(0);
    result.shares += share;
    result.weights += share * sum_of(group.weights[rank]);
    for (const RuleGroup::Letter& letter : group.letters_to(rank)) {
      std::span<const std::byte> contents = letter.contents;
      const auto half = sync::take_number<double>(contents);
      result.shares += half;
      while (!contents.empty()) result.weights += half * sync::take_number<float>(contents);
    }
  }
  return result;
}

TEST(GossipRule, SharesAndWeightsTimesSharesAreConservedMessagesOnTheirWayIncluded) {
  for (const int workers : {1, 2, 4, 5}) {
    RuleGroup group("gossip", workers, own_number, {{"probability", 0.5}});
    const Sums before = sums(group);
    EXPECT_NEAR(before.shares, 1, 1e-12);
    size_t sent = 0;
    for (int step = 0; step < 60; ++step) {
      group.step_of_all();
      sent += group.on_their_way();
      EXPECT_NEAR(sums(group).shares, 1, 1e-9) << workers;
      EXPECT_NEAR(sums(group).weights, before.weights, 1e-4 * std::abs(before.weights)) << workers;
      if (step % 3 == 0) group.deliver();
    }
    EXPECT_EQ(sent > 0, workers > 1);
  }
}

TEST(GossipRule, WorkersComeTogether) {
  RuleGroup group("gossip", 4, own_number, {{"probability", 0.5}});
  for (int step = 0; step < 100; ++step) {
    group.step_of_all();
    group.deliver();
  }
  group.deliver_all();
  for (const std::vector<float>& weights : group.weights) EXPECT_NEAR(weights[0], group.weights[0][0], 0.05);
}

TEST(GossipRule, ItSendsAsOftenAsItIsToldTo) {
  RuleGroup group("gossip", 2, own_number, {{"probability", 0.1}});
  size_t sent = 0;
  for (int step = 0; step < 2000; ++step) {
    group.step_of_all();
    sent += group.on_their_way();
    group.deliver();
  }
  EXPECT_NEAR(static_cast<double>(sent), 400, 80);
}

TEST(GossipRule, WhatIsNoGossipIsRefused) {
  const RuleGroup group("gossip", 2, own_number);
  sync::Bytes contents;
  EXPECT_FALSE(group.rules[0]->handle(1, contents).ok());
  sync::put_number(contents, 7.0);
  contents.resize(sizeof(double) + 11 * sizeof(float));
  EXPECT_FALSE(group.rules[0]->handle(1, contents).ok()) << "a share of seven";
}

}  // namespace
}  // namespace thalweg::testing
