// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// True for If: input 0 decides which of its two graphs gives the outputs.
bool is_choice(const Node& node);

/// A graph of an If, and what it is given: its inputs are all captured.
struct Branch {
  std::shared_ptr<Graph> graph;
  std::vector<Value*> captured;  ///< inputs of the node, in the order of the graph's inputs
};
Branch branch_of(const Node& node, bool condition);

}  // namespace thalweg
