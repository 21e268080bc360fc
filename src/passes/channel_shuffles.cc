// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/channel_shuffles.h"

#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

/// The node of that op that makes `value`, if nobody else reads what it reads of `before`; null otherwise.
const Node* maker(const Graph& graph, const Value* value, const OpId& op, const Node* reader) {
  const Node* node = value->producer();
  return node != nullptr && node->op_name() == op && only_consumer(graph, value) == reader ? node : nullptr;
}

bool swaps_first_two(const Node& transpose) {
  const std::vector<int64_t> order = transpose.attrs().integers("permutation");
  for (size_t d = 0; d < order.size(); ++d) {
    const auto own = static_cast<int64_t>(d);
    const int64_t place = order[d] < 0 ? order[d] + static_cast<int64_t>(order.size()) : order[d];
    if (place != (own == 1 ? 2 : own == 2 ? 1 : own)) return false;
  }
  return order.size() >= 3;
}

/// [N, C, places...] seen as [N, groups, C / groups, places...].
bool parts_channels(const Shape& whole, const Shape& parted) {
  if (!whole.is_static() || !parted.is_static() || whole.rank() < 3 || parted.rank() != whole.rank() + 1) return false;
  if (parted[0] != whole[0] || parted[1] * parted[2] != whole[1]) return false;
  for (int d = 2; d < whole.rank(); ++d) {
    if (parted[d + 1] != whole[d]) return false;
  }
  return whole.num_elements() > 0;
}

void say_shuffle(Graph& graph, const Node& last) {
  const Node* transpose = maker(graph, last.input(0), op::kTranspose, &last);
  const Node* first = transpose == nullptr ? nullptr : maker(graph, transpose->input(0), op::kReshape, transpose);
  if (first == nullptr || !swaps_first_two(*transpose)) return;
  Value* x = first->input(0);
  const Shape& parted = first->output()->shape();
  if (!parts_channels(x->shape(), parted) || last.output()->shape() != x->shape()) return;
  const int64_t groups = parted[1], size = parted[2];
  Tensor order(DType::kI64, {groups * size});
  for (int64_t c = 0; c < groups * size; ++c) order.data<int64_t>()[c] = c % groups * size + c / groups;
  rewrite_at(graph, last, [&] { return ops::gather(x, graph.constant(order), 1); });
}

}  // namespace

void say_channel_shuffles(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kReshape) say_shuffle(graph, *node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
}

}  // namespace thalweg
