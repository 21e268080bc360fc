// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/op_registry.h"
#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

bool can_take_relu(const Node& node) {
  // What a pass for inference took in comes after an activation.
  const bool ended = node.op_name() == op::kConv && node.input(4) != nullptr;
  return node.op().has(Trait::kTakesActivation) && node.attrs().text("activation").empty() && !ended &&
         !fused_affine(node.attrs()).present();
}

/// The ReLU that follows output 0 of a node alone; null if there is none.
Node* following_relu(const Graph& graph, const Node& node) {
  Node* reader = only_consumer(graph, node.output());
  return reader != nullptr && reader->op_name() == op::kRelu ? reader : nullptr;
}

void take_relu(Graph& graph, Node* node) {
  if (!can_take_relu(*node)) return;
  Node* relu = following_relu(graph, *node);
  if (relu == nullptr) return;
  graph.set_attribute(node, "activation", std::string(op::kRelu));
  graph.replace(relu->output(), node->output());
}

/// relu(batch_norm(x) + r): the sum and the ReLU move into the batch norm.
void take_residual(Graph& graph, Node* node) {
  if (node->op_name() != op::kBatchNorm || node->input(3) != nullptr || !node->attrs().text("activation").empty())
    return;
  Node* sum = only_consumer(graph, node->output());
  if (sum == nullptr || sum->op_name() != op::kAdd || sum->input(0) == sum->input(1)) return;
  Node* relu = following_relu(graph, *sum);
  Value* residual = sum->input(0) == node->output() ? sum->input(1) : sum->input(0);
  if (relu == nullptr || residual->type() != node->output()->type()) return;
  std::vector<Value*> inputs = node->inputs();
  inputs.resize(3);
  inputs.push_back(residual);
  graph.set_inputs(node, inputs);
  graph.set_attribute(node, "activation", std::string(op::kRelu));
  graph.replace(relu->output(), node->output());
}

}  // namespace

void fuse_for_training(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    take_residual(graph, node);
    take_relu(graph, node);
  }
  // A residual may be computed after the node that now reads it.
  graph.sort_nodes();
  graph.remove_dead_nodes();
}

void fuse_gradient_sums(Graph& graph) {
  constexpr size_t kSecondGradient = 7;
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() != op::kBatchNormGrad || node->input(kSecondGradient) != nullptr) continue;
    const Node* sum = node->input(0)->producer();
    if (sum == nullptr || sum->op_name() != op::kAdd || only_consumer(graph, sum->output()) != node) continue;
    if (sum->input(0)->type() != sum->input(1)->type() || sum->input(0) == sum->input(1)) continue;
    std::vector<Value*> inputs = node->inputs();
    inputs.resize(kSecondGradient + 1, nullptr);
    inputs[0] = sum->input(0);
    inputs[kSecondGradient] = sum->input(1);
    graph.set_inputs(node, inputs);
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
