// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// Of running statistics, in ONNX's sense: the share that they keep at each step.
constexpr double kUsualMomentum = 0.9;

Value* running(const Graph& graph, const Node& node, const char* attribute) {
  const std::string name = node.attrs().text(attribute);
  Value* state = name.empty() ? nullptr : graph.find(name);
  TW_REQUIRE(state != nullptr, describe(node), ": has no ", attribute, " to infer with");
  return state;
}

void freeze_batch_norm(Graph& graph, Node& node) {
  rewrite_at(graph, node, [&] {
    Value* y = graph
                   .add("batch_norm_inference",
                        {node.input(0), node.input(1), node.input(2), running(graph, node, "running_mean"),
                         running(graph, node, "running_variance")},
                        {{"epsilon", node.attrs().real("epsilon", 1e-5)},
                         {"momentum", node.attrs().real("momentum", kUsualMomentum)}},
                        node.name())
                   ->output();
    if (node.input(3) != nullptr) y = ops::add(y, node.input(3));
    if (node.attrs().text("activation") == "relu") y = ops::relu(y);
    return y;
  });
}

bool only_matters_in_training(const std::string& op, bool keep_dropout) {
  return (op == "dropout" && !keep_dropout) || op == "gaussian_noise" || op == "stop_gradient";
}

void remove_training(Graph& graph, bool keep_dropout) {
  graph.clear_assignments();
  for (Node* node : list_nodes(graph)) {
    if (only_matters_in_training(node->op_name(), keep_dropout)) graph.replace(node->output(), node->input(0));
    if (node->op_name() == "batch_norm") freeze_batch_norm(graph, *node);
  }
  graph.remove_dead_nodes();
}

}  // namespace

void to_inference(Graph& graph) { remove_training(graph, false); }
void to_portable(Graph& graph) { remove_training(graph, true); }

}  // namespace thalweg
