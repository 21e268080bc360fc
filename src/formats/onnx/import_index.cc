// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Reading and writing by index.
#include "formats/onnx/import_common.h"
#include "ops/ids.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Row numbers into the first dimensions of `shape` (as many as the indices' last dimension has entries, after the
/// `batch` ones that count by themselves), seen as one dimension: i64 [all but the last dimension of the indices].
Value* row_numbers(const NodeContext& context, const Shape& shape, Value* indices, int batch) {
  const Shape index_shape = static_shape(context, indices);
  const int64_t depth = index_shape[-1];
  context.require(batch >= 0 && batch < index_shape.rank(), "batch_dims ", batch, " does not fit indices of shape ",
                  index_shape);
  context.require(batch + depth <= shape.rank(), "indices of ", depth, " entries are too long for ", shape);
  std::vector<int64_t> sizes, strides(static_cast<size_t>(depth));
  for (int64_t k = 0; k < depth; ++k) sizes.push_back(shape[batch + static_cast<int>(k)]);
  int64_t stride = 1;
  for (int64_t k = depth; k-- > 0;) {
    strides[static_cast<size_t>(k)] = stride;
    stride *= sizes[static_cast<size_t>(k)];
  }
  indices = ops::cast(indices, DType::kI64);
  Value* size = context.constant(Tensor::from<int64_t>({depth}, sizes));
  indices = ops::where(ops::less(indices, zero_like(indices)), ops::add(indices, size), indices);
  Value* rows =
      ops::reduce_sum(ops::mul(indices, context.constant(Tensor::from<int64_t>({depth}, strides))), {-1}, false);
  // Each batch element's rows follow those of the one before.
  for (int d = batch; d-- > 0;) {
    std::vector<int64_t> along(static_cast<size_t>(rows->shape().rank()), 1);
    along[static_cast<size_t>(d)] = -1;
    Value* number = ops::reshape(positions_of(context, shape[d]), along);
    rows = ops::add(rows, ops::mul(number, static_cast<double>(stride)));
    stride *= shape[d];
  }
  return rows;
}

Value* gather_nd(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const auto batch = static_cast<int>(context.integer("batch_dims", 0));
  Value* rows = row_numbers(context, shape, context.input(1), batch);
  const auto depth = static_cast<int>(context.input(1)->shape()[-1]);
  std::vector<int64_t> flat = {shape.num_elements(0, batch + depth)};
  for (int d = batch + depth; d < shape.rank(); ++d) flat.push_back(shape[d]);
  return ops::gather(ops::reshape(x, flat), rows, 0);
}

Value* scatter_nd(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  Value* rows = row_numbers(context, shape, context.input(1), 0);
  const auto depth = static_cast<int>(context.input(1)->shape()[-1]);
  const int64_t width = shape.num_elements(depth, shape.rank());
  const int64_t count = rows->shape().num_elements();
  if (count == 0) return x;
  Value* index = ops::expand(ops::reshape(rows, {count, 1}), {count, width});
  Value* updates = ops::reshape(context.input(2), {count, width});
  const Attributes attrs{{"axis", int64_t{0}}, {"reduction", context.text("reduction", "none")}};
  Value* flat = ops::reshape(x, {shape.num_elements(0, depth), width});
  return ops::reshape(context.graph().add(op::kScatterElements, {flat, index, updates}, attrs)->output(), shape.dims());
}

/// Each row of the batch read backwards up to its own length.
Value* reverse_sequence(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const int time = context.integer("time_axis", 0) == 0 ? 0 : 1;
  const int batch = context.integer("batch_axis", 1) == 0 ? 0 : 1;
  context.require(time != batch && shape.rank() >= 2, "time and batch must be the first two axes");
  const auto along = [](int axis) { return axis == 0 ? std::vector<int64_t>{-1, 1} : std::vector<int64_t>{1, -1}; };
  Value* position = ops::reshape(positions_of(context, shape[time]), along(time));
  Value* length = ops::reshape(ops::cast(context.input(1), DType::kI64), along(batch));
  Value* mirrored = ops::sub(ops::sub(length, position), 1.0);
  Value* index = ops::where(ops::less(position, length), mirrored, position);
  std::vector<int64_t> dims = {shape[0], shape[1]};
  for (int d = 2; d < shape.rank(); ++d) dims.push_back(1);
  return ops::gather_elements(x, ops::expand(ops::reshape(index, dims), shape.dims()), time);
}

Value* one_hot(const NodeContext& context) {
  Value* indices = ops::cast(context.input(0), DType::kI64);
  const int64_t depth = context.content_integer(1);
  context.require(depth > 0, "the depth must be positive, got ", depth);
  const int64_t rank = indices->shape().rank() + 1;
  const int64_t axis = normal_axis(context, context.integer("axis", -1), rank);
  Value* values = context.input(2);
  Value* off = ops::reshape(ops::slice(values, {0}, {1}, {0}), {1});
  Value* on = ops::reshape(ops::slice(values, {1}, {2}, {0}), {1});
  std::vector<int64_t> along(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(axis)] = depth;
  Value* wrapped =
      ops::where(ops::less(indices, zero_like(indices)), ops::add(indices, static_cast<double>(depth)), indices);
  Value* hit = ops::equal(ops::unsqueeze(wrapped, {axis}), ops::reshape(positions_of(context, depth), along));
  return ops::where(hit, on, off);
}

/// The upper or lower triangle of the last two dimensions; the rest is 0.
Value* trilu(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  context.require(shape.rank() >= 2, "the input must have at least two dimensions, not ", shape);
  const int64_t k = context.has(1) ? context.content_integer(1) : 0;
  const bool upper = context.flag("upper", true);
  Tensor kept(DType::kBool, {shape[-2], shape[-1]});
  for (int64_t i = 0; i < shape[-2]; ++i) {
    for (int64_t j = 0; j < shape[-1]; ++j) {
      kept.data<bool>()[i * shape[-1] + j] = upper ? j - i >= k : j - i <= k;
    }
  }
  return ops::where(context.constant(kept), x, zero_like(x));
}

const RegisterConverters kConverters({
    {"GatherND", single(gather_nd)},
    {"ScatterND", single(scatter_nd)},
    {"ReverseSequence", single(reverse_sequence)},
    {"OneHot", single(one_hot)},
    {"Trilu", single(trilu)},
});

}  // namespace
}  // namespace thalweg::onnx
