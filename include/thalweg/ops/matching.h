// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// What training needs to know of boxes: which prior is to find which object. None of it has a gradient.
namespace thalweg::ops {

struct MatchOptions {
  /// A prior that overlaps an object at least so much is to find it.
  double positive = 0.5;
  /// One that overlaps every object less than this is background; those in between count for nothing.
  double negative = 0.5;
  /// A prior with more than this share of it inside a crowd is no background. 1: crowds do not matter.
  double crowd = 0.7;
};
/// In `matches` (i64): the numbers of objects from 0 on, or one of these.
inline constexpr int64_t kNoObject = -1;
inline constexpr int64_t kNeutral = -2;
/// In `kinds` (i64) [N, G]: the class of each object, from 0 on, or one of these.
inline constexpr int64_t kAbsent = -1;  ///< no object: pictures have different numbers of them
inline constexpr int64_t kCrowd = -2;   ///< a region with many, which nobody has told apart

/// Which of the `boxes` [N, G, 4] of its picture each of the `priors` [P, 4] is to find: i64 [N, P]. Every object gets
/// the prior that overlaps it most, best pairs first, whatever the thresholds say, unless none overlaps it.
Value* match_boxes(Value* priors, Value* boxes, Value* kinds, const MatchOptions& options = {},
                   const std::string& name = "");

/// Which background priors count in a loss (bool [N, P]): of each picture those whose `losses` [N, P] are largest,
/// `ratio` of them for each that has an object in `matches`.
Value* hard_negatives(Value* losses, Value* matches, double ratio = 3.0, const std::string& name = "");

}  // namespace thalweg::ops
