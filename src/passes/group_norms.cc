// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/group_norms.h"

#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

/// True if the operand has an element for each channel of [N, C, places...], and none for anything else.
bool is_by_channel(const Value& operand, const Shape& x) {
  const Shape& own = operand.shape();
  const int channel = own.rank() - (x.rank() - 1);
  if (operand.dtype() != DType::kF32 || own.rank() > x.rank() || channel < 0 || channel > 1) return false;
  return own[channel] == x[1] && own.num_elements() == x[1];
}

/// The other operand of the only node that reads `value`, if that is `op` by channel; null otherwise.
Value* channels_after(const Graph& graph, const Value* value, const OpId& op, const Node*& next) {
  next = only_consumer(graph, value);
  if (next == nullptr || next->op_name() != op || next->input(0) == next->input(1)) return nullptr;
  Value* operand = next->input(next->input(0) == value ? 1 : 0);
  return is_by_channel(*operand, value->shape()) ? ops::reshape(operand, {value->shape()[1]}) : nullptr;
}

/// What each group has, for each of its channels.
Value* repeated(Value* by_group, int64_t channels) {
  const int64_t groups = by_group->shape()[0];
  if (groups == channels) return by_group;
  return ops::reshape(ops::expand(ops::reshape(by_group, {groups, 1}), {groups, channels / groups}), {channels});
}

/// The norm [N, groups, ...] of one reshape that another one undoes; null if the node is none.
const Node* undone_reshape(const Graph& graph, const Node& norm) {
  const Node* first = norm.input(0)->producer();
  const Node* last = only_consumer(graph, norm.output());
  if (first == nullptr || first->op_name() != op::kReshape || last == nullptr || last->op_name() != op::kReshape)
    return nullptr;
  const Shape &x = first->input(0)->shape(), &parted = norm.input(0)->shape();
  if (!x.is_static() || x.num_elements() == 0 || x.rank() < 3 || parted.rank() < 3) return nullptr;
  const int64_t groups = norm.attrs().integer("groups");
  const bool whole_channels = parted[0] == x[0] && parted[1] == groups && x[1] % groups == 0;
  return whole_channels && last->output()->shape() == x ? last : nullptr;
}

void say_group_norm(Graph& graph, const Node& norm) {
  const Node* last = undone_reshape(graph, norm);
  if (last == nullptr || norm.output()->dtype() != DType::kF32) return;
  if (norm.input(1) == nullptr || norm.input(2) == nullptr) return;
  Value* x = norm.input(0)->producer()->input(0);
  const int64_t channels = x->shape()[1];
  const size_t first = graph.nodes().size();
  Value *scale = repeated(norm.input(1), channels), *shift = repeated(norm.input(2), channels);
  const Node* next = nullptr;
  if (Value* factor = channels_after(graph, last->output(), op::kMul, next); factor != nullptr) {
    scale = ops::mul(scale, factor);
    shift = ops::mul(shift, factor);
    last = next;
  }
  if (Value* offset = channels_after(graph, last->output(), op::kAdd, next); offset != nullptr) {
    shift = ops::add(shift, offset);
    last = next;
  }
  Value* y =
      ops::group_norm(x, scale, shift, norm.attrs().integer("groups"), norm.attrs().real("epsilon"), last->name());
  graph.move_tail_before(first, last);
  graph.replace(last->output(), y);
}

}  // namespace

void say_group_norms(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kGroupNorm) say_group_norm(graph, *node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
}

}  // namespace thalweg
