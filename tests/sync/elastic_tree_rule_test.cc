// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/peer_rules.h"

namespace thalweg::testing {
namespace {

float own_number(int rank) { return static_cast<float>(3 * rank + 1); }

TEST(ElasticTreeRule, SumsAreConservedAlongEachEdge) {
  // Of seven workers with two children each, 1 and 2 are inner nodes.
  RuleGroup group("elastic tree", 7, own_number, {{"leaf_period", 1}, {"inner_period", 1}});
  const double both = own_number(1) + own_number(4);
  // Only along the edge from 4 to 1.
  group.step(4);
  group.deliver_all();
  EXPECT_NEAR(group.weights[1][0] + group.weights[4][0], both, 1e-5);
  EXPECT_NEAR(group.weights[4][0], own_number(4) - 0.3 * (own_number(4) - own_number(1)), 1e-5)
      << "alpha is 0.9 / (degree + 1)";
  double before = 0, after = 0;
  for (const auto& weights : group.weights) before += weights[0];
  for (int step = 0; step < 20; ++step) {
    group.step_of_all();
    if (step % 3 == 0) group.deliver();
  }
  group.deliver_all();
  for (const auto& weights : group.weights) after += weights[0];
  EXPECT_NEAR(after, before, 1e-3);
  EXPECT_LT(group.weights[6][0] - group.weights[0][0], 9) << "they do not come together";
}

TEST(ElasticTreeRule, EdgesToLeavesAndThoseBetweenInnerNodesHavePeriodsOfTheirOwn) {
  RuleGroup group("elastic tree", 7, own_number, {{"leaf_period", 3}, {"inner_period", 5}});
  std::vector<int> leaf, inner;
  for (int step = 1; step <= 15; ++step) {
    group.step_of_all();
    for (const RuleGroup::Letter& letter : group.letters_to(1)) leaf.push_back(letter.from == 3 ? step : -1);
    for (const RuleGroup::Letter& letter : group.letters_to(0)) inner.push_back(letter.from == 1 ? step : -1);
    group.deliver_all();
  }
  std::erase(leaf, -1);
  std::erase(inner, -1);
  EXPECT_EQ(leaf, (std::vector<int>{3, 6, 9, 12, 15}));
  EXPECT_EQ(inner, (std::vector<int>{5, 10, 15}));
}

TEST(ElasticTreeRule, OnlyNeighboursAreListenedTo) {
  const RuleGroup group("elastic tree", 7, own_number);
  sync::Bytes contents;
  sync::put_number(contents, uint64_t{1});
  contents.resize(sizeof(uint64_t) + 11 * sizeof(float));
  EXPECT_FALSE(group.rules[0]->handle(5, contents).ok()) << "no child of the root";
  EXPECT_TRUE(group.rules[2]->handle(5, contents).ok());
  contents.pop_back();
  EXPECT_FALSE(group.rules[2]->handle(5, contents).ok());
}

}  // namespace
}  // namespace thalweg::testing
