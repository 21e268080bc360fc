// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

void require_indices(const InferContext& context, size_t index) {
  const DType dtype = context.dtype(index);
  context.require(dtype == DType::kI64 || dtype == DType::kI32, "indices must be i64 or i32");
}

/// Dimensions of `x` with that at `axis` replaced by all of `indices`.
Shape gathered_shape(const Shape& x, const Shape& indices, int axis) {
  std::vector<int64_t> dims(x.begin(), x.begin() + axis);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.begin() + axis + 1, x.end());
  return Shape(std::move(dims));
}

std::vector<TensorType> infer_gather(const InferContext& context) {
  require_indices(context, 1);
  const int axis = context.axis(context.attrs().integer("axis"), context.shape(0).rank());
  return {{context.dtype(0), gathered_shape(context.shape(0), context.shape(1), axis)}};
}

Value* zeros_like(Value* value) {
  Value* zero = value->graph().constant(Tensor::zeros(value->dtype(), {}));
  return value->graph().add(op::kExpandLike, {zero, value})->output();
}

void gather_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  const Shape& x = context.input(0)->shape();
  const int64_t axis = context.attrs().integer("axis");
  const int64_t size = x[static_cast<int>(axis)];
  TW_REQUIRE(size != kFree, describe(context.node()), ": its gradient needs a known size of dimension ", axis);
  Attributes attrs{{"axis", axis < 0 ? axis + x.rank() : axis}, {"size", size}};
  context.set(0, context.graph().add(op::kGatherGrad, {context.output_gradient(), context.input(1)}, attrs)->output());
}

/// gather_grad(dy, indices): slices of dy added up at their indices along "axis", which has "size" places.
std::vector<TensorType> infer_gather_grad(const InferContext& context) {
  require_indices(context, 1);
  const Shape& dy = context.shape(0);
  const auto axis = context.attrs().integer("axis");
  std::vector<int64_t> dims(dy.begin(), dy.begin() + axis);
  dims.push_back(context.attrs().integer("size"));
  dims.insert(dims.end(), dy.begin() + axis + context.shape(1).rank(), dy.end());
  return {{context.dtype(0), Shape(std::move(dims))}};
}

const AttributeDef kAxis = attr::integer("axis", 0, "that which the indices count along; negative: from the end");

const RegisterOp kGather(op::kGather, 2, "Slices of x along an axis, by their numbers.", infer_gather, gather_gradient,
                         {kAxis}, {.onnx = {{"Gather"}}});
const RegisterOp kGatherGrad(op::kGatherGrad, 2, "", infer_gather_grad, nullptr,
                             {kAxis, attr::integer("size", 0, "places along the axis").at_least(0)});

void require_index_shape(const InferContext& context) {
  require_indices(context, 1);
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  context.require(x.rank() == indices.rank(), "indices must have as many dimensions as the input");
  const int axis = context.axis(context.attrs().integer("axis"), x.rank());
  for (int i = 0; i < x.rank(); ++i) {
    const bool within = i == axis || indices[i] == kFree || x[i] == kFree || indices[i] <= x[i];
    context.require(within, "indices reach beyond dimension ", i);
  }
}

std::vector<TensorType> infer_gather_elements(const InferContext& context) {
  require_index_shape(context);
  return {{context.dtype(0), context.shape(1)}};
}

void gather_elements_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  context.set(0, ops::scatter_elements(zeros_like(context.input(0)), context.input(1), context.output_gradient(),
                                       context.attrs().integer("axis"), true));
}

std::vector<TensorType> infer_scatter_elements(const InferContext& context) {
  require_index_shape(context);
  context.require(context.shape(1) == context.shape(2), "updates must have the shape of the indices");
  context.require(context.dtype(0) == context.dtype(2), "updates must have the element type of the input");
  return {context.type(0)};
}

/// Of several updates to one place the gradient goes to all, as if each had been the last.
void scatter_elements_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  const int64_t axis = context.attrs().integer("axis");
  const std::string reduction = context.attrs().text("reduction");
  TW_REQUIRE(reduction == "none" || reduction == "add", describe(context.node()), ": reduction ", reduction,
             " has no gradient");
  const bool accumulate = reduction == "add";
  if (context.wants(0)) {
    Value* dx = dy;
    if (!accumulate) dx = ops::scatter_elements(dy, context.input(1), zeros_like(context.input(2)), axis);
    context.set(0, dx);
  }
  if (context.wants(2)) context.set(2, ops::gather_elements(dy, context.input(1), axis));
}

const RegisterOp kGatherElements(op::kGatherElements, 2,
                                 "Elements of x by their numbers along an axis, one for each place of the indices.",
                                 infer_gather_elements, gather_elements_gradient, {kAxis},
                                 {.onnx = {{"GatherElements", 11}}});
const RegisterOp kScatterElements(
    op::kScatterElements, 3, "x with elements replaced, or combined with others, at numbers along an axis.",
    infer_scatter_elements, scatter_elements_gradient,
    {kAxis,
     attr::text("reduction", "none", "how an update meets what is there").one_of({"none", "add", "mul", "min", "max"})},
    {.onnx = {{"ScatterElements", 11}, {"Scatter", 9}}});

std::vector<TensorType> infer_embedding(const InferContext& context) {
  context.require_rank(0, 2);
  require_indices(context, 1);
  return {{context.dtype(0), gathered_shape(context.shape(0), context.shape(1), 0)}};
}

void embedding_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  const int64_t width = context.input(0)->shape()[1];
  const int64_t padding = context.attrs().integer("padding_index");
  Value* indices = ops::cast(ops::reshape(context.input(1), {-1}), DType::kI64);
  Value* rows = ops::reshape(context.output_gradient(), {-1, width});
  if (padding >= 0) {
    Value* is_padding =
        ops::unsqueeze(ops::equal(indices, ops::scalar_like(indices, static_cast<double>(padding))), {1});
    rows = ops::where(is_padding, ops::scalar_like(rows, 0.0), rows);
  }
  context.set_sparse(0, indices, rows);
}

const RegisterOp kEmbedding(op::kEmbedding, 2, "Rows of a table, by their numbers; its gradient is sparse.",
                            infer_embedding, embedding_gradient,
                            {attr::integer("padding_index", -1, "a row that is not trained; negative: there is none")});

}  // namespace

namespace ops {

Value* gather(Value* x, Value* indices, int64_t axis) {
  return x->graph().add(op::kGather, {x, indices}, {{"axis", axis}})->output();
}

Value* gather_elements(Value* x, Value* indices, int64_t axis) {
  return x->graph().add(op::kGatherElements, {x, indices}, {{"axis", axis}})->output();
}

Value* scatter_elements(Value* x, Value* indices, Value* updates, int64_t axis, bool accumulate) {
  Attributes attrs{{"axis", axis}};
  if (accumulate) attrs.set("reduction", "add");
  return x->graph().add(op::kScatterElements, {x, indices, updates}, std::move(attrs))->output();
}

Value* embedding(Value* table, Value* indices, int64_t padding_index, const std::string& name) {
  Attributes attrs;
  if (padding_index >= 0) attrs.set("padding_index", padding_index);
  return table->graph().add(op::kEmbedding, {table, indices}, std::move(attrs), name)->output();
}

}  // namespace ops
}  // namespace thalweg
