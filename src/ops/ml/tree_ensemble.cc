// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// TreeEnsemble, and its forms before version 5 of ai.onnx.ml: TreeEnsembleRegressor and TreeEnsembleClassifier.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/limits.h"
#include "ops/ml/scores.h"
#include "ops/ml/trees.h"

namespace thalweg {
namespace {

using ml::Aggregate;
using ml::Branch;
using ml::Transform;
using ml::Trees;

/// Numbers of an attribute that is a list, or a tensor under the name with "_as_tensor".
std::vector<float> numbers(const HostContext& call, const std::string& name) {
  if (const Tensor tensor = call.attrs().tensor(name + "_as_tensor"); tensor.defined()) {
    const Tensor wide = tensor.to(DType::kF32);
    return {wide.data<float>(), wide.data<float>() + wide.num_elements()};
  }
  const std::vector<double> listed = call.attrs().reals(name);
  return {listed.begin(), listed.end()};
}

Branch branch_from(const std::string& mode) {
  const char* const known[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  const auto* found = std::find(std::begin(known), std::end(known), mode);
  TW_REQUIRE(found != std::end(known), "unknown mode '", mode, "' of a node");
  return static_cast<Branch>(found - std::begin(known));
}

Aggregate aggregate_from(const std::string& name) {
  const char* const known[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* found = std::find(std::begin(known), std::end(known), name);
  TW_REQUIRE(found != std::end(known), "unknown aggregate_function '", name, "'");
  return static_cast<Aggregate>(found - std::begin(known));
}

using NodeKey = std::pair<int64_t, int64_t>;  // tree and node

/// The forms before version 5: lists of nodes and of weights. `results` is "target" or "class".
class ListedTrees {
 public:
  ListedTrees(const HostContext& call, const std::string& results)
      : trees_of_(call.integers("nodes_treeids")),
        ids_(call.integers("nodes_nodeids")),
        features_(call.integers("nodes_featureids")),
        yes_(call.integers("nodes_truenodeids")),
        no_(call.integers("nodes_falsenodeids")),
        missing_(call.integers("nodes_missing_value_tracks_true")),
        modes_(call.attrs().texts("nodes_modes")),
        splits_(numbers(call, "nodes_values")) {
    const size_t count = trees_of_.size();
    TW_REQUIRE(ids_.size() == count && features_.size() == count && yes_.size() == count && no_.size() == count &&
                   modes_.size() == count && splits_.size() == count && (missing_.empty() || missing_.size() == count),
               "the lists of nodes differ in length");
    place_nodes();
    add_nodes();
    add_weights(call, results);
  }

  const Trees& trees() const { return trees_; }

 private:
  bool is_leaf(size_t i) const { return modes_[i] == "LEAF"; }

  /// Leaves and others count by themselves. The first node of each tree is its root.
  void place_nodes() {
    int64_t nodes = 0, leaves = 0;
    std::set<int64_t> seen;
    for (size_t i = 0; i < ids_.size(); ++i) {
      const int64_t place = is_leaf(i) ? -1 - leaves++ : nodes++;
      TW_REQUIRE(places_.emplace(NodeKey{trees_of_[i], ids_[i]}, place).second, "tree ", trees_of_[i],
                 " has two nodes ", ids_[i]);
      if (seen.insert(trees_of_[i]).second) trees_.roots.push_back(place);
    }
    trees_.leaves.resize(static_cast<size_t>(leaves));
  }

  int64_t place_of(int64_t tree, int64_t node) const {
    const auto found = places_.find({tree, node});
    TW_REQUIRE(found != places_.end(), "tree ", tree, " has no node ", node);
    return found->second;
  }

  void add_nodes() {
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (is_leaf(i)) continue;
      trees_.nodes.push_back({branch_from(modes_[i]), !missing_.empty() && missing_[i] != 0, features_[i], splits_[i],
                              place_of(trees_of_[i], yes_[i]), place_of(trees_of_[i], no_[i])});
    }
  }

  void add_weights(const HostContext& call, const std::string& results) {
    const std::vector<int64_t> trees = call.integers(results + "_treeids"), nodes = call.integers(results + "_nodeids");
    const std::vector<int64_t> targets = call.integers(results + "_ids");
    const std::vector<float> weights = numbers(call, results + "_weights");
    TW_REQUIRE(nodes.size() == trees.size() && targets.size() == trees.size() && weights.size() == trees.size(),
               "the lists of weights differ in length");
    std::vector<std::pair<int64_t, size_t>> by_leaf;
    for (size_t i = 0; i < trees.size(); ++i) {
      const int64_t place = place_of(trees[i], nodes[i]);
      // Some writers give weights to nodes that are no leaves; they count for nothing.
      if (place < 0) by_leaf.emplace_back(-1 - place, i);
    }
    std::stable_sort(by_leaf.begin(), by_leaf.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [leaf, i] : by_leaf) {
      Trees::Leaf& range = trees_.leaves[static_cast<size_t>(leaf)];
      if (range.end == 0) range.first = trees_.weights.size();
      trees_.weights.push_back({targets[i], weights[i]});
      range.end = trees_.weights.size();
    }
  }

  std::vector<int64_t> trees_of_, ids_, features_, yes_, no_, missing_;
  std::vector<std::string> modes_;
  std::vector<float> splits_;
  std::map<NodeKey, int64_t> places_;
  Trees trees_;
};

constexpr int64_t kMostTargets = 1 << 20;

void add_base(const std::vector<float>& base, std::vector<float>& scores) {
  TW_REQUIRE(base.empty() || base.size() == scores.size(), "there are ", base.size(), " base_values for ",
             scores.size(), " results");
  for (size_t i = 0; i < base.size(); ++i) scores[i] += base[i];
}

std::vector<Tensor> regress(const HostContext& call) {
  const auto made = call.made_once<Trees>([&] { return ListedTrees(call, "target").trees(); });
  const Trees& trees = *made;
  const ml::Rows x = ml::rows_of(call.input(0));
  const int64_t targets = call.integer("n_targets", 1);
  TW_REQUIRE(targets > 0 && targets <= kMostTargets, "n_targets is ", targets);
  trees.check(x.width, targets);
  const Aggregate how = aggregate_from(call.text("aggregate_function", "SUM"));
  const std::vector<float> base = numbers(call, "base_values");
  const Transform transform = ml::transform_of(call);
  std::vector<std::vector<float>> results;
  for (int64_t i = 0; i < x.count; ++i) {
    require_time();
    std::vector<float> scores(static_cast<size_t>(targets));
    std::vector<bool> has(scores.size());
    ml::score(trees, how, x.row(i), scores, has);
    add_base(base, scores);
    ml::apply(transform, scores);
    results.push_back(std::move(scores));
  }
  return {ml::stacked(results, targets)};
}

/// Two classes of which trees have weights for one alone: that score decides, and the other one follows from it.
struct TwoClasses {
  bool applies;
  bool all_positive;

  /// Adds the score that is missing, transforms both, and gives the class.
  int64_t finish(std::vector<float>& scores, Transform transform) const {
    const float given = scores[0];
    const int64_t winner = given > (all_positive ? 0.5F : 0.0F) ? 1 : 0;
    if (all_positive) {
      scores = {1 - given, given};
    } else if (transform == Transform::kLogistic) {
      scores = {ml::logistic(-given), ml::logistic(given)};
    } else {
      scores = {-given, given};
      ml::apply(transform, scores);
    }
    return winner;
  }
};

std::vector<Tensor> classify(const HostContext& call) {
  const auto made = call.made_once<Trees>([&] { return ListedTrees(call, "class").trees(); });
  const Trees& trees = *made;
  const ml::Rows x = ml::rows_of(call.input(0));
  const ml::Labels labels(call, "classlabels_int64s");
  const auto count = static_cast<int64_t>(labels.size());
  TW_REQUIRE(count > 0 && count <= kMostTargets, "there are ", count, " classes");
  trees.check(x.width, count);
  const std::vector<float> base = numbers(call, "base_values");
  const Transform transform = ml::transform_of(call);
  std::set<int64_t> weighted;
  bool positive = true;
  for (const Trees::Weight& weight : trees.weights) {
    weighted.insert(weight.target);
    positive = positive && weight.value >= 0;
  }
  const TwoClasses two{count == 2 && weighted.size() <= 1 && base.size() <= 1, positive};
  std::vector<std::vector<float>> results;
  std::vector<int64_t> winners;
  for (int64_t i = 0; i < x.count; ++i) {
    require_time();
    std::vector<float> scores(static_cast<size_t>(count));
    std::vector<bool> has(scores.size());
    ml::score(trees, Aggregate::kSum, x.row(i), scores, has);
    if (two.applies) {
      scores = {scores[has[1] ? 1 : 0] + (base.empty() ? 0.0F : base[0])};
      winners.push_back(two.finish(scores, transform));
    } else {
      add_base(base, scores);
      winners.push_back(ml::largest(scores));
      ml::apply(transform, scores);
    }
    results.push_back(std::move(scores));
  }
  return {labels.of(winners), ml::stacked(results, count)};
}

/// Version 5: nodes in one array, whose children are nodes or leaves, with sets of values as tests.
Trees joined_trees(const HostContext& call) {
  const std::vector<int64_t> features = call.integers("nodes_featureids"),
                             missing = call.integers("nodes_missing_value_tracks_true");
  const std::vector<int64_t> yes = call.integers("nodes_truenodeids"), no = call.integers("nodes_falsenodeids");
  const std::vector<int64_t> yes_leaf = call.integers("nodes_trueleafs"), no_leaf = call.integers("nodes_falseleafs");
  const Tensor modes = call.attrs().tensor("nodes_modes"), splits = call.attrs().tensor("nodes_splits");
  const size_t count = features.size();
  TW_REQUIRE(modes.defined() && splits.defined() && modes.num_elements() == static_cast<int64_t>(count) &&
                 splits.num_elements() == static_cast<int64_t>(count) && yes.size() == count && no.size() == count &&
                 yes_leaf.size() == count && no_leaf.size() == count && (missing.empty() || missing.size() == count),
             "the lists of nodes differ in length");
  Trees trees;
  if (const Tensor members = call.attrs().tensor("membership_values"); members.defined()) {
    const Tensor wide = members.to(DType::kF32);
    trees.members.assign(wide.data<float>(), wide.data<float>() + wide.num_elements());
  }
  const auto child = [](int64_t place, int64_t is_leaf) {
    TW_REQUIRE(place >= 0, "a tree leads to node ", place);
    return is_leaf != 0 ? -1 - place : place;
  };
  const Tensor kinds = modes.to(DType::kI64), values = splits.to(DType::kF32);
  size_t member = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t kind = kinds.data<int64_t>()[i];
    TW_REQUIRE(kind >= 0 && kind <= static_cast<int64_t>(Branch::kMember), "unknown mode ", kind, " of a node");
    Trees::Node node{static_cast<Branch>(kind), !missing.empty() && missing[i] != 0, features[i],
                     values.data<float>()[i],   child(yes[i], yes_leaf[i]),          child(no[i], no_leaf[i])};
    if (node.branch == Branch::kMember) {
      // The sets stand one after the other, each ended by a NaN.
      node.first_member = member;
      while (member < trees.members.size() && !std::isnan(trees.members[member])) ++member;
      node.end_member = member++;
      TW_REQUIRE(node.end_member <= trees.members.size(), "there are too few membership_values");
    }
    trees.nodes.push_back(node);
  }
  const std::vector<int64_t> targets = call.integers("leaf_targetids");
  const Tensor weights = call.attrs().tensor("leaf_weights");
  TW_REQUIRE(weights.defined() && weights.num_elements() == static_cast<int64_t>(targets.size()),
             "the lists of leaves differ in length");
  const Tensor wide = weights.to(DType::kF32);
  for (size_t i = 0; i < targets.size(); ++i) {
    trees.leaves.push_back({i, i + 1});
    trees.weights.push_back({targets[i], wide.data<float>()[i]});
  }
  trees.roots = call.integers("tree_roots");
  // A tree of one leaf is a node whose children are that leaf.
  return trees;
}

std::vector<Tensor> ensemble(const HostContext& call) {
  const auto made = call.made_once<Trees>([&] { return joined_trees(call); });
  const Trees& trees = *made;
  const ml::Rows x = ml::rows_of(call.input(0));
  const int64_t targets = call.integer("n_targets", 1), how = call.integer("aggregate_function", 1);
  TW_REQUIRE(targets > 0 && targets <= kMostTargets, "n_targets is ", targets);
  TW_REQUIRE(how >= 0 && how <= static_cast<int64_t>(Aggregate::kMax), "unknown aggregate_function ", how);
  trees.check(x.width, targets);
  const Transform transform = ml::transform_from(call.integer("post_transform", 0));
  std::vector<std::vector<float>> results;
  for (int64_t i = 0; i < x.count; ++i) {
    require_time();
    std::vector<float> scores(static_cast<size_t>(targets));
    std::vector<bool> has(scores.size());
    ml::score(trees, static_cast<Aggregate>(how), x.row(i), scores, has);
    ml::apply(transform, scores);
    results.push_back(std::move(scores));
  }
  const DType dtype = call.input(0).dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  return {ml::stacked(results, targets).to(dtype)};
}

const RegisterHost kEnsemble("ai.onnx.ml.TreeEnsemble", ensemble);
const RegisterHost kRegressor("ai.onnx.ml.TreeEnsembleRegressor", regress);
const RegisterHost kClassifier("ai.onnx.ml.TreeEnsembleClassifier", classify);

}  // namespace
}  // namespace thalweg
