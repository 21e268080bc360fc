// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::ml {

enum class Branch : uint8_t { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual, kMember };

/// Trees of decisions in one array. Children that are negative are leaves: number -1 - child.
struct Trees {
  struct Node {
    Branch branch;
    bool missing_is_true;
    int64_t feature;
    float split;
    int64_t yes, no;
    size_t first_member = 0, end_member = 0;  ///< of `members`
  };
  /// What a leaf adds to which results: a range of `weights`.
  struct Leaf {
    size_t first = 0, end = 0;
  };
  struct Weight {
    int64_t target;
    float value;
  };

  std::vector<Node> nodes;
  std::vector<Leaf> leaves;
  std::vector<Weight> weights;
  std::vector<float> members;
  std::vector<int64_t> roots;

  /// Throws if a number lies outside of its array, a feature outside of `width`, or nodes lead in a circle.
  void check(int64_t width, int64_t targets) const;
  /// The leaf that a row comes to.
  const Leaf& leaf_of(int64_t root, const float* row) const;
};

enum class Aggregate { kAverage, kSum, kMin, kMax };

/// Scores of one row by all trees together. `has` says which results any tree had a weight for.
void score(const Trees& trees, Aggregate how, const float* row, std::vector<float>& scores, std::vector<bool>& has);

}  // namespace thalweg::ml
