// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include "ops/ids.h"
#include "thalweg/ops.h"

namespace thalweg {

std::vector<Node*> list_nodes(const Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  return nodes;
}

void rewrite_at(Graph& graph, const Node& node, const std::function<Value*()>& build) {
  const size_t first = graph.nodes().size();
  Value* result = build();
  graph.move_tail_before(first, &node);
  graph.replace(node.output(), result);
}

Node* only_consumer(const Graph& graph, const Value* value) {
  if (graph.is_output(value)) return nullptr;
  for (const auto& [state, assigned] : graph.assignments()) {
    if (assigned == value) return nullptr;
  }
  for (const Gradient& gradient : graph.gradients()) {
    if (gradient.dense == value || gradient.rows == value || gradient.indices == value) return nullptr;
  }
  const std::vector<Node*> readers = graph.consumers(value);
  return readers.size() == 1 ? readers[0] : nullptr;
}

bool is_product_of_weights(const Node& node) {
  if (node.op_name() == op::kConvTranspose) return node.attrs().integer("groups") == 1;
  return node.op_name() == op::kConv || node.op_name() == op::kLinear;
}

Value* scaled_weights(const Node& product, Value* factor) {
  Value* weight = product.input(1);
  const size_t channels = product.op_name() == op::kConvTranspose ? 1 : 0;
  std::vector<int64_t> shape(static_cast<size_t>(weight->shape().rank()), 1);
  shape[channels] = weight->shape()[static_cast<int>(channels)];
  return ops::mul(weight, ops::reshape(factor, shape));
}

}  // namespace thalweg
