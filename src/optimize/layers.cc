// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/layers.h"

#include "graph/meaning.h"
#include "ops/ids.h"

namespace thalweg {
namespace {

/// Whether the node's weight is known, and has elements and as many dimensions as `fits` says.
template <typename Fits>
bool has_weight_of(const EditedGraph& model, const Node& node, Fits fits) {
  const Value* weight = node.input(1);
  return model.has_weight(weight) && fits(weight->shape().rank()) && weight->shape().num_elements() > 0;
}

}  // namespace

bool is_matrix_product(const EditedGraph& model, const Node& node) {
  if (!means(node, op::kMatmul) && !means(node, op::kLinear)) return false;
  if (!has_weight_of(model, node, [](int rank) { return rank == 2; })) return false;
  return !node.attrs().flag("transA") && node.attrs().real("alpha", 1.0) == 1.0 &&
         node.attrs().real("beta", 1.0) == 1.0;
}

bool is_layer(const EditedGraph& model, const Node& node) {
  return is_matrix_product(model, node) ||
         (means(node, op::kConv) && has_weight_of(model, node, [](int rank) { return rank >= 3; }));
}

std::vector<Layer> quantizable_layers(const EditedGraph& model) {
  std::vector<Layer> layers;
  for (const auto& node : model.graph().nodes()) {
    if (is_layer(model, *node)) layers.push_back({node->output()->name(), describe(*node)});
  }
  return layers;
}

}  // namespace thalweg
