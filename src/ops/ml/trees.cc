// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ml/trees.h"

#include <algorithm>
#include <cmath>

#include "thalweg/error.h"

namespace thalweg::ml {
namespace {

bool holds(const Trees& trees, const Trees::Node& node, float value) {
  if (std::isnan(value)) {
    const bool outside = node.branch == Branch::kNotEqual;
    return node.missing_is_true || outside;
  }
  switch (node.branch) {
    case Branch::kLessEqual: return value <= node.split;
    case Branch::kLess: return value < node.split;
    case Branch::kGreaterEqual: return value >= node.split;
    case Branch::kGreater: return value > node.split;
    case Branch::kEqual: return value == node.split;
    case Branch::kNotEqual: return value != node.split;
    case Branch::kMember: break;
  }
  const auto first = trees.members.begin() + static_cast<std::ptrdiff_t>(node.first_member);
  const auto end = trees.members.begin() + static_cast<std::ptrdiff_t>(node.end_member);
  return std::find(first, end, value) != end;
}

}  // namespace

void Trees::check(int64_t width, int64_t targets) const {
  const auto count = static_cast<int64_t>(nodes.size()), ends = static_cast<int64_t>(leaves.size());
  const auto require_place = [&](int64_t place) {
    TW_REQUIRE(place < count && -1 - place < ends, "a tree leads to node ", place, " of ", count);
  };
  for (const Node& node : nodes) {
    TW_REQUIRE(node.feature >= 0 && node.feature < width, "a tree asks for feature ", node.feature, " of ", width);
    require_place(node.yes);
    require_place(node.no);
  }
  for (const Weight& weight : weights) {
    TW_REQUIRE(weight.target >= 0 && weight.target < targets, "a leaf adds to result ", weight.target, " of ", targets);
  }
  // Each node may be led to once: then there is no circle.
  std::vector<bool> reached(nodes.size());
  std::vector<int64_t> waiting = roots;
  while (!waiting.empty()) {
    const int64_t place = waiting.back();
    waiting.pop_back();
    require_place(place);
    if (place < 0) continue;
    const auto index = static_cast<size_t>(place);
    TW_REQUIRE(!reached[index], "node ", place, " of a tree is reached in two ways");
    reached[index] = true;
    waiting.push_back(nodes[index].yes);
    waiting.push_back(nodes[index].no);
  }
}

const Trees::Leaf& Trees::leaf_of(int64_t root, const float* row) const {
  while (root >= 0) {
    const Node& node = nodes[static_cast<size_t>(root)];
    root = holds(*this, node, row[node.feature]) ? node.yes : node.no;
  }
  return leaves[static_cast<size_t>(-1 - root)];
}

void score(const Trees& trees, Aggregate how, const float* row, std::vector<float>& scores, std::vector<bool>& has) {
  for (const int64_t root : trees.roots) {
    const Trees::Leaf& leaf = trees.leaf_of(root, row);
    for (size_t w = leaf.first; w < leaf.end; ++w) {
      const auto target = static_cast<size_t>(trees.weights[w].target);
      const float value = trees.weights[w].value;
      if (!has[target] || how == Aggregate::kSum || how == Aggregate::kAverage) {
        scores[target] += value;
      } else {
        scores[target] = how == Aggregate::kMin ? std::min(scores[target], value) : std::max(scores[target], value);
      }
      has[target] = true;
    }
  }
  if (how != Aggregate::kAverage) return;
  for (float& sum : scores) sum /= static_cast<float>(std::max<size_t>(trees.roots.size(), 1));
}

}  // namespace thalweg::ml
