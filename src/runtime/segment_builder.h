// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/specialize.h"
#include "runtime/variables.h"

namespace thalweg {

/// A part of a graph whose shapes are all known, and what has to follow it.
struct SegmentPlan {
  /// Null if nothing of it has to be computed.
  std::unique_ptr<Graph> graph;
  /// Values of the original graph that are at hand and go in, in the order of the new graph's inputs.
  std::vector<const Value*> inputs;
  /// Those among the values at hand whose content decided shapes.
  std::vector<const Value*> contents;
  /// What comes out, in the order of the new graph's outputs.
  std::vector<const Value*> outputs;
  /// What is known without computing.
  std::vector<std::pair<const Value*, Tensor>> known;
  /// Nodes for the host to execute afterwards, by their place in the original graph.
  std::vector<size_t> host_nodes;
  /// Nodes that need no more work once these are through, by their place.
  std::vector<bool> done;
};

/// Specialises every node that can be yet. A node has to wait if an input, or an input's content, depends on something
/// that must run first: then what it waits for becomes an output.
class SegmentBuilder : private ValueSource {
 public:
  /// `contents`, by the numbers of values, has what is at hand; `done` nodes are left out. `name` is that of the model,
  /// for messages.
  SegmentBuilder(const Graph& graph, const std::string& name, const Variables& variables,
                 const std::vector<Tensor>& contents, const std::vector<bool>& done);
  /// Throws an Error that lists the nodes which cannot be computed.
  SegmentPlan build();

 private:
  Value* define(const Value* original, Graph& target) override;
  Tensor content(const Value* original) override;

  void convert_nodes();
  void choose_host_nodes();
  void choose_outputs();
  bool at_hand(const Value* value) const;
  /// A value at hand, or a constant, of texts, a sequence or nothing: only the host computes with those.
  bool is_object(const Value* value) const;

  const Graph& graph_;
  const std::string& name_;
  const Variables& variables_;
  const std::vector<Tensor>& contents_;
  SegmentPlan plan_;
  Specializer specializer_;
  /// Nodes that no program can hold but the host may execute.
  std::vector<bool> for_host_;
  /// By name: what the graph of the plan knows each parameter as.
  std::unordered_map<std::string, Value*> weights_;
};

}  // namespace thalweg
