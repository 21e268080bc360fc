// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// A bias or a scale for each channel that stands after a product as a node of its own becomes part of the product,
// whose weights and bias the runtime then computes once.
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// The same in every run, and not the result of a quantised value, whose pattern other passes look for.
bool is_fixed(const Value* value, int depth = 0) {
  constexpr int kDeepest = 8;
  const Node* producer = value->producer();
  if (producer == nullptr) return value->kind() != Value::Kind::kInput;
  if (depth == kDeepest || producer->op_name() == op::kDequantize || producer->op().impure) return false;
  for (const Value* input : producer->inputs()) {
    if (input != nullptr && !is_fixed(input, depth + 1)) return false;
  }
  return true;
}

/// The dimension of a product's output that its bias goes along.
int channel_axis(const Node& product) {
  return product.op_name() == op::kLinear ? product.output()->shape().rank() - 1 : 1;
}

/// True if `operand`, broadcast to the product's output, has one element for each channel, or one for all.
bool is_per_channel(const Node& product, const Value* operand) {
  const Shape& out = product.output()->shape();
  const Shape& own = operand->shape();
  if (own.num_elements() == 1) return own.rank() <= out.rank() && out[channel_axis(product)] != kFree;
  const int axis = channel_axis(product) - (out.rank() - own.rank());
  if (own.rank() > out.rank() || axis < 0 || out[channel_axis(product)] == kFree) return false;
  return own[axis] == out[channel_axis(product)] && own.num_elements() == own[axis];
}

Value* as_channels(const Node& product, Value* operand) {
  const int64_t channels = product.output()->shape()[channel_axis(product)];
  Value* flat = ops::reshape(operand, {operand->shape().num_elements()});
  return flat->shape()[0] == channels ? flat : ops::expand(flat, {channels});
}

struct Terms {
  Value* weight;
  Value* bias;
};

/// The product's weights and bias once the node after it is part of it.
Terms with_next(const Node& product, const Node& next, Value* operand) {
  Value* channels = as_channels(product, operand);
  Value* bias = product.input(2);
  if (next.op_name() == op::kAdd) return {product.input(1), bias == nullptr ? channels : ops::add(bias, channels)};
  if (next.op_name() == op::kSub)
    return {product.input(1), bias == nullptr ? ops::neg(channels) : ops::sub(bias, channels)};
  Value* factor = next.op_name() == op::kDiv ? ops::reciprocal(channels) : channels;
  return {scaled_weights(product, factor), bias == nullptr ? nullptr : ops::mul(bias, factor)};
}

/// The other operand of the node after a product, if that node can be part of it; null if not.
Value* absorbed_operand(const Node& product, const Node& next) {
  const bool scales = next.op_name() == op::kMul || next.op_name() == op::kDiv;
  const bool shifts = next.op_name() == op::kAdd || next.op_name() == op::kSub;
  if (!scales && !shifts) return nullptr;
  const bool first = next.input(0) == product.output();
  const bool in_order = next.op_name() == op::kSub || next.op_name() == op::kDiv;
  if (next.input(0) == next.input(1) || (in_order && !first)) return nullptr;
  Value* operand = first ? next.input(1) : next.input(0);
  if (operand->dtype() != DType::kF32 || next.output()->type() != product.output()->type()) return nullptr;
  if (!is_per_channel(product, operand) || !is_fixed(operand)) return nullptr;
  if (scales && !is_fixed(product.input(1))) return nullptr;
  const Node* weights = product.input(1)->producer();
  return weights != nullptr && weights->op_name() == op::kDequantize ? nullptr : operand;
}

bool absorb_next(Graph& graph, Node* product) {
  if (product->input(3) != nullptr || !product->attrs().text("activation").empty()) return false;
  if (product->output()->dtype() != DType::kF32) return false;
  const Node* next = only_consumer(graph, product->output());
  Value* operand = next == nullptr ? nullptr : absorbed_operand(*product, *next);
  if (operand == nullptr) return false;
  const size_t first = graph.nodes().size();
  const Terms terms = with_next(*product, *next, operand);
  graph.move_tail_before(first, product);
  graph.set_inputs(product, {product->input(0), terms.weight, terms.bias});
  graph.replace(next->output(), product->output());
  return true;
}

}  // namespace

void absorb_affine(Graph& graph) {
  for (bool found = true; found;) {
    found = false;
    for (Node* node : list_nodes(graph)) {
      if (is_product_of_weights(*node) && absorb_next(graph, node)) found = true;
    }
    // The operand may be computed after the product that now reads it.
    graph.sort_nodes();
    graph.remove_dead_nodes();
  }
}

}  // namespace thalweg
