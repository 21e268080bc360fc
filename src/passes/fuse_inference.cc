// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "ops/fused_activation.h"
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

void fold_batch_norm(Graph& graph, Node* norm) {
  const Node* source = norm->input(0)->producer();
  if (source == nullptr || only_consumer(graph, source->output()) != norm) return;
  if (!is_product_of_weights(*source) || source->input(3) != nullptr) return;
  if (!source->attrs().text("activation").empty() || source->input(0)->dtype() != DType::kF32) return;
  if (source->op_name() == op::kLinear && norm->input(0)->shape().rank() != 2) return;
  rewrite_at(graph, *norm, [&] {
    const Affine affine = affine_of(*norm);
    Value* bias = affine.offset;
    if (source->input(2) != nullptr) bias = ops::add(bias, ops::mul(source->input(2), affine.factor));
    return graph
        .add(source->op_name(), {source->input(0), scaled_weights(*source, affine.factor), bias}, source->attrs(),
             source->name())
        ->output();
  });
}

/// A batch norm that follows no product is a product and a sum, which may become part of a chain.
void spell_batch_norm(Graph& graph, Node* norm) {
  const Shape& shape = norm->output()->shape();
  if (norm->output()->dtype() != DType::kF32 || shape.rank() < 2) return;
  rewrite_at(graph, *norm, [&] {
    const Affine affine = affine_of(*norm);
    std::vector<int64_t> channels(static_cast<size_t>(shape.rank()) - 1, 1);
    channels[0] = -1;
    return ops::add(ops::mul(norm->input(0), ops::reshape(affine.factor, channels)),
                    ops::reshape(affine.offset, channels), norm->name());
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

/// Products of integers take bounds alone, and those who look for them know no other function.
bool may_become_integer(const Node& product) {
  const Node* weights = product.input(1)->producer();
  return weights != nullptr && weights->op_name() == op::kDequantize;
}

/// f(conv(x)), f(linear(x)): the function moves into the product.
void take_activation(Graph& graph, Node* product) {
  if (!product->attrs().text("activation").empty() || product->input(4) != nullptr) return;
  const Node* next = only_consumer(graph, product->output());
  if (next == nullptr || next->output()->type() != product->output()->type()) return;
  const std::vector<std::string>& all = fusible_activations();
  if (std::find(all.begin(), all.end(), next->op_name()) == all.end()) return;
  const bool bounds = next->op_name() == op::kRelu || (next->op_name() == op::kClip && product->op_name() == op::kConv);
  if (!bounds && may_become_integer(*product)) return;
  fuse_activation(graph, product, *next);
  graph.replace(next->output(), product->output());
}

std::optional<double> number_of(const Value* value) {
  const bool one = value->kind() == Value::Kind::kConstant && value->data().num_elements() == 1;
  return one ? std::optional<double>(value->data().item()) : std::nullopt;
}

/// f(conv(x)) * a + b for numbers a and b: they move into the product as well. Without a function between they are
/// in its weights and bias already.
bool take_affine(Graph& graph, Node* product) {
  if (product->attrs().text("activation").empty() && product->input(4) == nullptr) return false;
  const Node* next = only_consumer(graph, product->output());
  if (next == nullptr || next->output()->type() != product->output()->type() || next->inputs().size() != 2)
    return false;
  if (may_become_integer(*product)) return false;
  const bool first = next->input(0) == product->output();
  const std::optional<double> number = number_of(next->input(first ? 1 : 0));
  if (!number || next->input(0) == next->input(1)) return false;
  FusedAffine affine = fused_affine(product->attrs());
  if (next->op_name() == op::kMul || (next->op_name() == op::kDiv && first && *number != 0.0)) {
    const double factor = next->op_name() == op::kMul ? *number : 1.0 / *number;
    affine = {affine.scale * factor, affine.shift * factor};
  } else if (next->op_name() == op::kAdd || (next->op_name() == op::kSub && first)) {
    affine.shift += next->op_name() == op::kAdd ? *number : -*number;
  } else {
    return false;
  }
  graph.set_attribute(product, "scale", affine.scale);
  graph.set_attribute(product, "shift", affine.shift);
  graph.replace(next->output(), product->output());
  return true;
}

/// A factor for each channel, or one for all, of what is below 0 in a convolution's result.
void take_slope(Graph& graph, Node* conv) {
  if (!conv->attrs().text("activation").empty() || conv->output()->dtype() != DType::kF32) return;
  const Node* prelu = only_consumer(graph, conv->output());
  if (prelu == nullptr || prelu->op_name() != op::kPrelu || prelu->input(0) != conv->output()) return;
  Value* slope = prelu->input(1);
  const int64_t channels = conv->output()->shape()[1];
  const Shape& out = conv->output()->shape();
  if (channels == kFree || prelu->output()->type() != conv->output()->type() || may_become_integer(*conv)) return;
  const int axis = slope->shape().rank() - (out.rank() - 1);
  const bool one = slope->shape().num_elements() == 1;
  const bool by_channel = axis >= 0 && slope->shape().num_elements() == channels && slope->shape()[axis] == channels;
  if (!one && !by_channel) return;
  rewrite_at(graph, *prelu, [&] {
    std::vector<Value*> inputs = conv->inputs();
    inputs.resize(4, nullptr);
    Value* flat = ops::reshape(slope, {slope->shape().num_elements()});
    inputs.push_back(one ? ops::expand(flat, {channels}) : flat);
    return graph.add(conv->op_name(), inputs, conv->attrs(), conv->name())->output();
  });
}

/// x W for weights that are the same in every run is a linear layer, which takes a bias and an activation.
void say_linear(Graph& graph, Node* product) {
  const Value* weight = product->input(1);
  const bool fixed = weight->kind() == Value::Kind::kParameter || weight->kind() == Value::Kind::kConstant;
  if (!fixed || weight->shape().rank() != 2 || product->attrs().flag("transpose_a")) return;
  if (product->output()->dtype() != DType::kF32) return;
  rewrite_at(graph, *product, [&] {
    Value* rows = product->input(1);
    if (!product->attrs().flag("transpose_b")) rows = ops::transpose(rows, {1, 0});
    return ops::linear(product->input(0), rows, nullptr, "", product->name());
  });
}

}  // namespace

void fuse_for_inference(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kMatmul) say_linear(graph, node);
  }
  graph.remove_dead_nodes();
  // Before batch norms, which look for the product that they follow; and once more for what follows them.
  absorb_affine(graph);
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kBatchNormInference) fold_batch_norm(graph, node);
  }
  graph.remove_dead_nodes();
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kBatchNormInference) spell_batch_norm(graph, node);
  }
  graph.remove_dead_nodes();
  absorb_affine(graph);
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kConv) take_residual(graph, node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
  for (Node* node : list_nodes(graph)) {
    if (is_product_of_weights(*node)) take_activation(graph, node);
    if (node->op_name() == op::kConv) take_slope(graph, node);
  }
  graph.sort_nodes();
  for (bool found = true; found;) {
    found = false;
    graph.remove_dead_nodes();
    for (Node* node : list_nodes(graph)) {
      if (is_product_of_weights(*node) && take_affine(graph, node)) found = true;
    }
  }
  // The pass for training fuses activations; what it knows of batch norms does not occur here.
  fuse_for_training(graph);
}

}  // namespace thalweg
