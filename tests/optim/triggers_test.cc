// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/triggers.h"

#include <gtest/gtest.h>

#include "thalweg/error.h"

namespace thalweg::optim {
namespace {

TEST(Triggers, FireWhenTheirConditionHolds) {
  EXPECT_FALSE(every_epoch()({.iteration = 10}));
  EXPECT_TRUE(every_epoch()({.iteration = 10, .epoch_ended = true}));
  EXPECT_FALSE(several_iterations(5)({.iteration = 0}));
  EXPECT_FALSE(several_iterations(5)({.iteration = 9}));
  EXPECT_TRUE(several_iterations(5)({.iteration = 10}));
  EXPECT_FALSE(max_epoch(3)({.epoch = 2}));
  EXPECT_TRUE(max_epoch(3)({.epoch = 3}));
  EXPECT_FALSE(max_iteration(3)({.iteration = 2}));
  EXPECT_TRUE(max_iteration(3)({.iteration = 4}));
  EXPECT_FALSE(max_score(0.9)({.score = 0.9}));
  EXPECT_TRUE(max_score(0.9)({.score = 0.91}));
  EXPECT_FALSE(min_loss(0.1)({.loss = 0.1}));
  EXPECT_TRUE(min_loss(0.1)({.loss = 0.09}));
}

TEST(Triggers, NothingMeasuredYetFiresNothing) {
  EXPECT_FALSE(max_score(0.0)({}));
  EXPECT_FALSE(min_loss(1e9)({}));
}

TEST(Triggers, Combine) {
  const Trigger either = any_of({max_epoch(3), min_loss(0.1)});
  EXPECT_FALSE(either({.epoch = 2, .loss = 1.0}));
  EXPECT_TRUE(either({.epoch = 3, .loss = 1.0}));
  EXPECT_TRUE(either({.epoch = 2, .loss = 0.01}));
  const Trigger both = all_of({max_epoch(3), min_loss(0.1)});
  EXPECT_FALSE(both({.epoch = 3, .loss = 1.0}));
  EXPECT_TRUE(both({.epoch = 3, .loss = 0.01}));
  EXPECT_EQ(all_of({either, every_epoch()}).description(), "((after 3 epochs or loss below 0.1) and every epoch)");
}

TEST(Triggers, ImpossibleOnesAreRefused) {
  EXPECT_THROW(several_iterations(0), Error);
  EXPECT_THROW(max_epoch(-1), Error);
  EXPECT_THROW(any_of({}), Error);
  EXPECT_THROW(Trigger("nothing", nullptr), Error);
}

}  // namespace
}  // namespace thalweg::optim
