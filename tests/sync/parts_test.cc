// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using sync::Composition;
using ::testing::HasSubstr;

std::string refusal(const Composition& parts) {
  return error_text([&] { sync::compose(parts, {}, {}, nullptr); });
}

TEST(Parts, ATopologyThatDoesNotReachThePlaceIsRefusedWithBothNamesAndWhatFits) {
  EXPECT_THAT(
      refusal({.kind = "gradients", .topology = "tree", .place = "everybody"}),
      HasSubstr("cannot travel along the topology tree to the place of update everybody, which takes: all-reduce"));
  EXPECT_THAT(
      refusal({.kind = "gradients", .topology = "all-reduce", .place = "owners"}),
      HasSubstr("topology all-reduce to the place of update owners, which takes: scatter-reduce, tree, two levels"));
}

TEST(Parts, WhatIsMissingOrTooMuchIsRefused) {
  EXPECT_THAT(refusal({.kind = "gradients", .topology = "tree"}), HasSubstr("a topology and a place of update"));
  EXPECT_THAT(refusal({.kind = "gradients", .topology = "tree", .place = "owners", .rule = "mean"}),
              HasSubstr("and of no rule"));
  EXPECT_THAT(refusal({.kind = "weights", .topology = "tree", .rule = "mean"}), HasSubstr("of nothing else"));
  EXPECT_THAT(refusal({.kind = "served", .place = "owners"}), HasSubstr("of its own"));
}

TEST(Parts, NamesThatThereAreNotAreRefusedWithThoseThereAre) {
  EXPECT_THAT(refusal({.kind = "telepathy"}), HasSubstr("'telepathy'; there are: free weights, gradients, "));
  EXPECT_THAT(refusal({.kind = "gradients", .topology = "star", .place = "owners"}),
              HasSubstr("'star'; there are: all-reduce, scatter-reduce, tree, two levels"));
  EXPECT_THAT(refusal({.kind = "gradients", .topology = "tree", .place = "nowhere"}),
              HasSubstr("'nowhere'; there are: everybody, owners"));
  EXPECT_THAT(refusal({.kind = "weights", .rule = "dice"}), HasSubstr("'dice'; there are: mean, outer, ring"));
}

/// What `thalweg schemes` prints of a composition is that of the parts it will really have.
TEST(Parts, AxesAreThoseOfTheParts) {
  const sync::Axes tree = sync::describe({.kind = "gradients", .topology = "tree", .place = "owners"}, {});
  EXPECT_EQ(tree.exchange, sync::Exchange::kTree);
  EXPECT_EQ(tree.optimisation, sync::Optimisation::kCentral);
  const sync::Axes ring = sync::describe({.kind = "weights", .rule = "ring"}, {});
  EXPECT_EQ(ring.exchange, sync::Exchange::kNeighbours);
  EXPECT_EQ(ring.optimisation, sync::Optimisation::kDecentral);
  EXPECT_FALSE(ring.compresses);
  EXPECT_EQ(sync::describe({.kind = "served"}, {{"staleness", 3}}).schedule, sync::Schedule::kBounded);
  EXPECT_EQ(sync::describe({.kind = "served"}, {{"staleness", sync::kUnbounded}}).schedule,
            sync::Schedule::kAsynchronous);
}

}  // namespace
}  // namespace thalweg::testing
