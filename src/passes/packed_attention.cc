// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/packed_attention.h"

#include <optional>
#include <vector>

#include "ops/ids.h"
#include "ops/slice_bounds.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using Order = std::vector<int64_t>;

/// One of the three along the first dimension of `whole`.
struct Third {
  Value* whole = nullptr;
  int64_t number = 0;
};

/// x[number] as a slice of one, or a part of a split into ones, whose dimension of size 1 is dropped.
std::optional<Third> dropped_slice(const Node& view) {
  const Value* part = view.input(0);
  const std::vector<int64_t>& dims = part->shape().dims();
  if (dims.empty() || dims[0] != 1) return {};
  if (view.output()->shape() != Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()))) return {};
  const Node* maker = part->producer();
  if (maker == nullptr) return {};
  Value* whole = maker->input(0);
  if (maker->op_name() == op::kSplit) {
    const int64_t axis = maker->attrs().integer("axis");
    if ((axis < 0 ? axis + whole->shape().rank() : axis) != 0) return {};
    for (size_t i = 0; i < maker->outputs().size(); ++i) {
      if (maker->output(i)->shape()[0] != 1) return {};
      if (maker->output(i) == part) return Third{whole, static_cast<int64_t>(i)};
    }
  }
  if (maker->op_name() != op::kSlice) return {};
  const std::vector<SliceBounds> bounds = slice_bounds(maker->attrs(), whole->shape());
  for (int d = 1; d < whole->shape().rank(); ++d) {
    const SliceBounds& bound = bounds[static_cast<size_t>(d)];
    if (bound.step != 1 || bound.length != whole->shape()[d]) return {};
  }
  return Third{whole, bounds[0].start};
}

/// x[number] as a gather of one slice.
std::optional<Third> gathered(const Node& gather) {
  const Value* index = gather.input(1);
  const int64_t axis = gather.attrs().integer("axis");
  if (index->kind() != Value::Kind::kConstant || index->shape().rank() != 0 || axis != 0) return {};
  const int64_t given = index->data().to(DType::kI64).data<int64_t>()[0];
  Value* whole = gather.input(0);
  return Third{whole, given < 0 ? given + whole->shape()[0] : given};
}

std::optional<Third> third_of(const Value* value) {
  const Node* node = value->producer();
  if (node == nullptr || node->input(0) == nullptr || !node->input(0)->shape().is_static()) return {};
  if (node->op_name() == op::kSqueeze || node->op_name() == op::kReshape) return dropped_slice(*node);
  return node->op_name() == op::kGather ? gathered(*node) : std::nullopt;
}

/// What q, k and v are the thirds of, in that order: [3, B, H, T, D]; null if they are not.
Value* packed_heads(const Node& attention) {
  Value* whole = nullptr;
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<Third> third = attention.input(i) == nullptr ? std::nullopt : third_of(attention.input(i));
    if (!third || third->number != static_cast<int64_t>(i) || (i > 0 && third->whole != whole)) return nullptr;
    whole = third->whole;
  }
  return whole->shape().rank() == 5 && whole->shape()[0] == 3 ? whole : nullptr;
}

}  // namespace

void say_packed_attention(Graph& graph, const Node& attention) {
  if (attention.attrs().text("layout") != "bhtd" || !graph.consumers(attention.output(1)).empty()) return;
  const Value* heads_first = packed_heads(attention);
  const Node* transpose = heads_first == nullptr ? nullptr : heads_first->producer();
  if (transpose == nullptr || transpose->op_name() != op::kTranspose) return;
  Order order = transpose->attrs().integers("permutation");
  for (int64_t& place : order) place += place < 0 ? 5 : 0;
  if (order != Order{2, 0, 3, 1, 4}) return;
  Value* parted = transpose->input(0);
  const Shape& shape = parted->shape();  // [B, T, 3, H, D]
  const int64_t heads = shape[3], width = shape[4];
  const Shape packed{shape[0], shape[1], 3 * heads * width};
  rewrite_at(graph, attention, [&] {
    const Node* view = parted->producer();
    const bool seen = view != nullptr && view->op_name() == op::kReshape && view->input(0)->shape() == packed;
    Value* qkv = seen ? view->input(0) : ops::reshape(parted, packed.dims());
    const Attributes& attrs = attention.attrs();
    Value* y = ops::self_attention(qkv, heads, attention.input(3), attrs.real("scale"), attrs.flag("causal"),
                                   attention.name());
    return ops::transpose(ops::reshape(y, {shape[0], shape[1], heads, width}), {0, 2, 1, 3});
  });
}

}  // namespace thalweg
