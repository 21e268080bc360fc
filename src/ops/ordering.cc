// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops about the order of elements along an axis: arg_max, arg_min, top_k, cumsum.
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_arg(const InferContext& context) {
  const Shape& from = context.shape(0);
  const int axis = context.axis(context.attrs().integer("axis"), from.rank());
  context.require(from[axis] != 0, "dimension ", axis, " is empty");
  std::vector<int64_t> dims = from.dims();
  if (context.attrs().flag("keep_dims")) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  return {{DType::kI64, Shape(std::move(dims))}};
}

std::vector<TensorType> infer_top_k(const InferContext& context) {
  TensorType values = context.type(0);
  const int axis = context.axis(context.attrs().integer("axis"), values.shape.rank());
  const int64_t k = context.attrs().integer("k");
  context.require(values.shape[axis] == kFree || k <= values.shape[axis], "k is ", k, " but dimension ", axis, " has ",
                  values.shape[axis], " elements");
  values.shape[axis] = k;
  return {values, {DType::kI64, values.shape}};
}

void top_k_gradient(GradientContext& context) {
  if (context.output_gradient(0) == nullptr) return;
  Value* x = context.input(0);
  Value* zero = context.graph().constant(Tensor::zeros(x->dtype(), {}));
  Value* zeros = context.graph().add(op::kExpandLike, {zero, x})->output();
  context.set(0, ops::scatter_elements(zeros, context.output(1), context.output_gradient(0),
                                       context.attrs().integer("axis"), true));
}

std::vector<TensorType> infer_cumsum(const InferContext& context) {
  context.axis(context.attrs().integer("axis"), context.shape(0).rank());
  return {context.type(0)};
}

void cumsum_gradient(GradientContext& context) {
  context.set(0, ops::cumsum(context.output_gradient(), context.attrs().integer("axis"),
                             context.attrs().flag("exclusive"), !context.attrs().flag("reverse")));
}

constexpr const char* kAxisDoc = "that which is walked along; negative: from the end";
const AttributeDef kAxis = attr::integer("axis", 0, kAxisDoc);
const AttributeDef kLastAxis = attr::integer("axis", -1, kAxisDoc);
const AttributeDef kKeepDims = attr::flag("keep_dims", "the axis stays, with size 1");

const RegisterOp kArgMax(op::kArgMax, 1, "The number of the largest element along an axis; the first of equals.",
                         infer_arg, nullptr, {kAxis, kKeepDims}, {.zero_gradient = true});
const RegisterOp kArgMin(op::kArgMin, 1, "The number of the smallest element along an axis; the first of equals.",
                         infer_arg, nullptr, {kAxis, kKeepDims}, {.zero_gradient = true});
const RegisterOp kTopK(op::kTopK, 1, "The k largest elements along an axis in order, and their numbers.", infer_top_k,
                       top_k_gradient,
                       {kLastAxis, attr::integer("k", 0, "how many").at_least(0),
                        attr::flag("smallest", "the smallest instead"), attr::flag("sorted", "in order", true)});
const RegisterOp kCumsum(op::kCumsum, 1, "Sums of the elements up to each along an axis.", infer_cumsum,
                         cumsum_gradient,
                         {kAxis, attr::flag("exclusive", "the element itself is left out"),
                          attr::flag("reverse", "from the end")});

Value* arg(OpId op, Value* x, int64_t axis, bool keep_dims) {
  Attributes attrs{{"axis", axis}};
  if (keep_dims) attrs.set("keep_dims", int64_t{1});
  return x->graph().add(op, {x}, std::move(attrs))->output();
}

}  // namespace

namespace ops {

Value* arg_max(Value* x, int64_t axis, bool keep_dims) { return arg(op::kArgMax, x, axis, keep_dims); }
Value* arg_min(Value* x, int64_t axis, bool keep_dims) { return arg(op::kArgMin, x, axis, keep_dims); }

TopK top_k(Value* x, int64_t k, int64_t axis, bool largest) {
  Attributes attrs{{"k", k}, {"axis", axis}};
  if (!largest) attrs.set("smallest", int64_t{1});
  const Node* node = x->graph().add(op::kTopK, {x}, std::move(attrs));
  return {node->output(0), node->output(1)};
}

Value* cumsum(Value* x, int64_t axis, bool exclusive, bool reverse) {
  Attributes attrs{{"axis", axis}};
  if (exclusive) attrs.set("exclusive", int64_t{1});
  if (reverse) attrs.set("reverse", int64_t{1});
  return x->graph().add(op::kCumsum, {x}, std::move(attrs))->output();
}

}  // namespace ops
}  // namespace thalweg
