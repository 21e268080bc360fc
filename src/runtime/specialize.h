// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// Where values of the graph that is being built come from that no converted node makes.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  /// Adds to `target` what stands for a value of the original graph. Null if there is nothing yet.
  virtual Value* define(const Value* original, Graph& target) = 0;
  /// The elements of a value that `define` made; an undefined tensor if they are not known.
  virtual Tensor content(const Value* original) = 0;
};

/// Turns nodes of a graph whose shapes may be free, one at a time, into nodes of a graph with known shapes: types are
/// inferred anew, and ops that are made of others are composed. Whatever depends on constants alone becomes a constant
/// at once, so that shapes which a model computes are known to the nodes that need them.
class Specializer {
 public:
  Specializer(Graph& target, ValueSource& source) : target_(target), source_(source) {}

  enum class Outcome {
    kConverted,
    kNotReady,      ///< an input does not exist
    kNeedsContent,  ///< the content of an input must be known, and is not
    kUnsupported    ///< its rule refuses it: the reason is in `problem`
  };
  Outcome convert(const Node& node, std::string& problem);

  /// What stands for a value of the original graph; null if there is nothing yet.
  Value* find(const Value* original);
  void define(const Value* original, Value* value);

  Graph& target() const { return target_; }

 private:
  std::vector<Value*> build(const Node& node, std::vector<Value*> inputs);
  /// A constant with the content of a value of the new graph; null if it is not known.
  Value* find_content(Value* value);
  Value* computed_content(const Value* value, int depth);
  void fold(size_t first_node, std::vector<Value*>& results);
  /// Puts the graph that an If chooses in its place, once the condition is known.
  Outcome choose(const Node& node, std::string& problem);

  Graph& target_;
  ValueSource& source_;
  /// Nodes of the graph from this number on were added by the rule that runs.
  int rule_begin_ = 0;
  std::unordered_map<const Value*, Value*> values_;
  /// The way back, for contents.
  std::unordered_map<const Value*, const Value*> originals_;
};

/// Gives the content of a parameter or state of a graph whose weights a Variables object holds; may be empty.
using WeightContent = std::function<Tensor(const Value* weight)>;

/// A deep copy of `graph` whose inputs have the given static types, with all types inferred anew, and all ops that are
/// made of others composed. `mapping` (optional) receives old value -> new value. Throws an Error that names the node
/// if a shape depends on the content of what the graph is given.
std::unique_ptr<Graph> specialize(const Graph& graph, const std::vector<TensorType>& input_types,
                                  std::unordered_map<const Value*, Value*>* mapping = nullptr,
                                  const WeightContent& weight = {});

}  // namespace thalweg
