// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "thalweg/graph.h"

namespace thalweg::testing {

/// What the op checks of a test program have seen so far, so that a test at its end can say what they left out.
class OpCoverage {
 public:
  static OpCoverage& instance();

  /// Some of the first `num_nodes` nodes of a graph, those through which a loss depends on `operands`, are compared
  /// with central differences.
  void differentiated(const Graph& graph, size_t num_nodes, const std::vector<Value*>& operands);
  /// A program's kernels were compared with reference kernels.
  void compared(const Program& program);
  void compared(const Node& node, const std::string& candidate);

  /// A line for each op with a gradient rule that was never differentiated.
  std::vector<std::string> missing_gradients() const;
  /// A line for each kernel that was never compared, and for each op with one whose comparisons leave out a size of 1,
  /// an odd size or an empty operand.
  std::vector<std::string> missing_comparisons() const;

 private:
  struct Shapes {
    bool one = false;
    bool odd = false;
    bool empty = false;
  };
  std::set<std::string> differentiated_;
  std::map<std::string, std::set<std::string>> candidates_;
  std::map<std::string, Shapes> shapes_;
};

}  // namespace thalweg::testing
