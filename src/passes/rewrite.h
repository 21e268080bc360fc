// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// The nodes of a graph as they are now; the graph may grow while they are walked.
std::vector<Node*> list_nodes(const Graph& graph);

/// Puts what `build` appends to the graph in the place of `node`, and its result in the place of output 0. The node
/// itself stays, dead unless other outputs are read.
void rewrite_at(Graph& graph, const Node& node, const std::function<Value*()>& build);

/// The one node that reads `value`; null if there are more or fewer, or if the value leaves the graph.
Node* only_consumer(const Graph& graph, const Value* value);

/// True for conv, conv_transpose without groups, and linear: a product of data (input 0) with weights (input 1), and a
/// bias (input 2) for each channel of the output.
bool is_product_of_weights(const Node& node);
/// The weights of such a node times a factor for each channel of its output.
Value* scaled_weights(const Node& product, Value* factor);

}  // namespace thalweg
