// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

Value* running(const Graph& graph, const Node& node, const char* attribute) {
  const std::string name = node.attrs().text(attribute);
  Value* state = name.empty() ? nullptr : graph.find(name);
  TW_REQUIRE(state != nullptr, describe(node), ": has no ", attribute, " to infer with");
  return state;
}

void freeze_batch_norm(Graph& graph, Node& node) {
  rewrite_at(graph, node, [&] {
    Value* y =
        graph
            .add(op::kBatchNormInference,
                 {node.input(0), node.input(1), node.input(2), running(graph, node, "running_mean"),
                  running(graph, node, "running_variance")},
                 {{"epsilon", node.attrs().real("epsilon")}, {"momentum", node.attrs().real("momentum")}}, node.name())
            ->output();
    if (node.input(3) != nullptr) y = ops::add(y, node.input(3));
    if (node.attrs().text("activation") == op::kRelu) y = ops::relu(y);
    return y;
  });
}

void remove_training(Graph& graph, bool keep_dropout) {
  graph.clear_assignments();
  for (Node* node : list_nodes(graph)) {
    const bool kept = keep_dropout && node->op_name() == op::kDropout;
    if (node->op().has(Trait::kTrainingOnly) && !kept) graph.replace(node->output(), node->input(0));
    if (node->op_name() == op::kBatchNorm) freeze_batch_norm(graph, *node);
  }
  graph.remove_dead_nodes();
}

}  // namespace

void to_inference(Graph& graph) { remove_training(graph, false); }
void to_portable(Graph& graph) { remove_training(graph, true); }

}  // namespace thalweg
