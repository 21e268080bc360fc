// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/factor_gradients.h"

#include <algorithm>
#include <numeric>

#include "ops/ids.h"
#include "thalweg/ops/reduce.h"

namespace thalweg {
namespace {

/// The gradient is all that reads the product, and is of numbers that travel as they are.
bool is_product(const Graph& graph, const Gradient& gradient) {
  const Value* dense = gradient.dense;
  if (dense == nullptr || dense->producer() == nullptr || dense->output_index() != 0) return false;
  const Node& node = *dense->producer();
  if (node.op_name() != op::kLinearGradWeights || graph.is_output(dense) || !graph.consumers(dense).empty())
    return false;
  return node.input(0)->dtype() == DType::kF32 && node.input(1)->dtype() == DType::kF32;
}

/// The sum of all rows, which the node gives besides the product.
void sum_rows_apart(Graph& graph, const Node& node) {
  if (node.outputs().size() < 2) return;
  std::vector<int64_t> leading(static_cast<size_t>(node.input(0)->shape().rank() - 1));
  std::iota(leading.begin(), leading.end(), 0);
  graph.replace(node.output(1), ops::reduce_sum(node.input(0), leading));
}

}  // namespace

std::vector<std::string> factor_gradients(Graph& graph) {
  std::vector<std::string> names;
  std::vector<const Node*> products;
  std::vector<Gradient> rest;
  for (const Gradient& gradient : graph.gradients()) {
    if (!is_product(graph, gradient)) {
      rest.push_back(gradient);
      continue;
    }
    names.push_back(gradient.parameter->name());
    products.push_back(gradient.dense->producer());
  }
  graph.gradients() = std::move(rest);
  for (const Node* node : products) {
    graph.mark_output(node->input(0));
    graph.mark_output(node->input(1));
    sum_rows_apart(graph, *node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
  return names;
}

}  // namespace thalweg
