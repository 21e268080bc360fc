// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/op_check.h"

namespace thalweg::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<int64_t> integers_of(const Tensor& tensor) {
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.num_elements()};
}

/// Of one picture, with four priors side by side, each of 1 x 1.
std::vector<int64_t> matches_of(const std::vector<float>& boxes, const std::vector<int64_t>& kinds,
                                const ops::MatchOptions& options = {}) {
  const auto count = static_cast<int64_t>(kinds.size());
  Graph graph;
  Value* priors = graph.input("priors", {DType::kF32, {4, 4}});
  Value* given = graph.input("boxes", {DType::kF32, {1, count, 4}});
  Value* known = graph.input("kinds", {DType::kI64, {1, count}});
  graph.mark_output(ops::match_boxes(priors, given, known, options));
  const std::vector<float> side_by_side{0, 0, 1, 1, 1, 0, 2, 1, 2, 0, 3, 1, 3, 0, 4, 1};
  return integers_of(
      run_graph(graph, {Tensor::from<float>({4, 4}, side_by_side), Tensor::from<float>({1, count, 4}, boxes),
                        Tensor::from<int64_t>({1, count}, kinds)})[0]);
}

TEST(MatchBoxes, ByThresholds) {
  // Over the first prior by 0.8, over the third by 0.45: neither object nor background with 0.4 and 0.5.
  const std::vector<float> boxes{0.2F, 0, 1, 1, 2.55F, 0, 3, 1};
  EXPECT_THAT(matches_of(boxes, {3, 5}), ElementsAre(0, -1, 1, -1)) << "each object has its best prior";
  EXPECT_THAT(matches_of(boxes, {3, -1}), ElementsAre(0, -1, -1, -1)) << "what is absent matches nothing";
  EXPECT_THAT(matches_of({0, 0, 1.9F, 1}, {0}), ElementsAre(0, -1, -1, -1));
  ops::MatchOptions apart;
  apart.negative = 0.4;
  EXPECT_THAT(matches_of({0, 0, 1.9F, 1}, {0}, apart), ElementsAre(0, -2, -1, -1)) << "0.45 of the second";
}

TEST(MatchBoxes, GivesTheBestPairsFirst) {
  // Both objects lie over the first prior; the better one gets it, the other the second prior, of which it has a
  // little.
  EXPECT_THAT(matches_of({0.1F, 0, 1.1F, 1, 0, 0, 1, 1}, {7, 7}), ElementsAre(1, 0, -1, -1));
  // One that overlaps nothing gets nothing.
  EXPECT_THAT(matches_of({9, 9, 10, 10}, {0}), ElementsAre(-1, -1, -1, -1));
}

TEST(MatchBoxes, CrowdsAreNoBackground) {
  const std::vector<float> boxes{0, 0, 1, 1, 1.2F, 0, 9, 9};
  EXPECT_THAT(matches_of(boxes, {0, ops::kCrowd}), ElementsAre(0, -2, -2, -2));
  ops::MatchOptions regardless;
  regardless.crowd = 1;
  EXPECT_THAT(matches_of(boxes, {0, ops::kCrowd}, regardless), ElementsAre(0, -1, -1, -1));
}

TEST(MatchBoxes, SaysWhatDoesNotFit) {
  Graph graph;
  Value* priors = graph.input("priors", {DType::kF32, {4, 4}});
  Value* boxes = graph.input("boxes", {DType::kF32, {1, 2, 4}});
  Value* kinds = graph.input("kinds", {DType::kI64, {1, 3}});
  EXPECT_THAT(error_text([&] { ops::match_boxes(priors, boxes, kinds); }), HasSubstr("and boxes for [1,2,4]"));
}

TEST(HardNegatives, AreThoseWithTheLargestLosses) {
  Graph graph;
  Value* losses = graph.input("losses", {DType::kF32, {3, 6}});
  Value* matches = graph.input("matches", {DType::kI64, {3, 6}});
  graph.mark_output(ops::hard_negatives(losses, matches, 2.0));
  const Tensor given = Tensor::from<float>({3, 6}, {9, 1, 5, 5, 3, 8, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  // One object and a neutral prior; no object; four objects, which ask for more background than there is.
  const Tensor matched =
      Tensor::from<int64_t>({3, 6}, {0, -1, -1, -1, -1, -2, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1});
  const Tensor chosen = run_graph(graph, {given, matched})[0];
  const std::vector<bool> expected{false, false, true,  true,  false, false, false, false, false,
                                   false, false, false, false, false, false, false, true,  true};
  EXPECT_THAT(std::vector<bool>(chosen.data<bool>(), chosen.data<bool>() + 18), ElementsAreArray(expected));
}

}  // namespace
}  // namespace thalweg::testing
