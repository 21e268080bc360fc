// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// The batch norm's affine map y = factor * x + offset, built from values that are fixed at inference: the runtime
/// computes it, and the weights scaled by it, once.
struct Affine {
  Value* factor;
  Value* offset;
};

Affine affine_of(const Node& norm) {
  Value* deviation = ops::sqrt(ops::add(norm.input(4), norm.attrs().real("epsilon")));
  Value* factor = ops::div(norm.input(1), deviation);
  return {factor, ops::sub(norm.input(2), ops::mul(norm.input(3), factor))};
}

Value* scale_weights(Value* weight, Value* factor) {
  std::vector<int64_t> shape(static_cast<size_t>(weight->shape().rank()), 1);
  shape[0] = weight->shape()[0];
  return ops::mul(weight, ops::reshape(factor, shape));
}

void fold_batch_norm(Graph& graph, Node* norm) {
  const Node* source = norm->input(0)->producer();
  if (source == nullptr || only_consumer(graph, source->output()) != norm) return;
  if ((source->op_name() != op::kConv && source->op_name() != op::kLinear) || source->input(3) != nullptr) return;
  if (!source->attrs().text("activation").empty() || source->input(0)->dtype() != DType::kF32) return;
  if (source->op_name() == op::kLinear && norm->input(0)->shape().rank() != 2) return;
  rewrite_at(graph, *norm, [&] {
    const Affine affine = affine_of(*norm);
    Value* bias = affine.offset;
    if (source->input(2) != nullptr) bias = ops::add(bias, ops::mul(source->input(2), affine.factor));
    return graph
        .add(source->op_name(), {source->input(0), scale_weights(source->input(1), affine.factor), bias},
             source->attrs(), source->name())
        ->output();
  });
}

/// conv(x) + r: the sum moves into the convolution.
void take_residual(Graph& graph, Node* conv) {
  if (conv->input(3) != nullptr || !conv->attrs().text("activation").empty()) return;
  const Node* sum = only_consumer(graph, conv->output());
  if (sum == nullptr || sum->op_name() != op::kAdd || sum->input(0) == sum->input(1)) return;
  Value* residual = sum->input(0) == conv->output() ? sum->input(1) : sum->input(0);
  if (residual->type() != conv->output()->type()) return;
  graph.set_inputs(conv, {conv->input(0), conv->input(1), conv->input(2), residual});
  graph.replace(sum->output(), conv->output());
}

/// clip(conv(x)), ReLU6 above all: the bounds move into the convolution.
void take_bounds(Graph& graph, Node* conv) {
  if (!conv->attrs().text("activation").empty()) return;
  const Node* clip = only_consumer(graph, conv->output());
  if (clip == nullptr || clip->op_name() != op::kClip) return;
  graph.set_attribute(conv, "activation", clip->op_name());
  graph.set_attribute(conv, "low", clip->attrs().real("low"));
  graph.set_attribute(conv, "high", clip->attrs().real("high"));
  graph.replace(clip->output(), conv->output());
}

}  // namespace

void fuse_for_inference(Graph& graph) {
  // Before batch norms, which look for the product that they follow; and once more for what follows them.
  absorb_affine(graph);
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kBatchNormInference) fold_batch_norm(graph, node);
  }
  graph.remove_dead_nodes();
  absorb_affine(graph);
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kConv) take_residual(graph, node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kConv) take_bounds(graph, node);
  }
  graph.remove_dead_nodes();
  // The pass for training fuses activations; what it knows of batch norms does not occur here.
  fuse_for_training(graph);
}

}  // namespace thalweg
