// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops about the order of elements along an axis: arg_max, arg_min, top_k, cumsum.
#include "graph/op_registry.h"
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
  const int axis = context.axis(context.attrs().integer("axis", -1), values.shape.rank());
  const int64_t k = context.attrs().integer("k");
  context.require(k >= 0 && (values.shape[axis] == kFree || k <= values.shape[axis]), "k is ", k, " but dimension ",
                  axis, " has ", values.shape[axis], " elements");
  values.shape[axis] = k;
  return {values, {DType::kI64, values.shape}};
}

void top_k_gradient(GradientContext& context) {
  if (context.output_gradient(0) == nullptr) return;
  Value* x = context.input(0);
  Value* zero = context.graph().constant(Tensor::zeros(x->dtype(), {}));
  Value* zeros = context.graph().add("expand_like", {zero, x})->output();
  context.set(0, ops::scatter_elements(zeros, context.output(1), context.output_gradient(0),
                                       context.attrs().integer("axis", -1), true));
}

std::vector<TensorType> infer_cumsum(const InferContext& context) {
  context.axis(context.attrs().integer("axis"), context.shape(0).rank());
  return {context.type(0)};
}

void cumsum_gradient(GradientContext& context) {
  context.set(0, ops::cumsum(context.output_gradient(), context.attrs().integer("axis"),
                             context.attrs().flag("exclusive"), !context.attrs().flag("reverse")));
}

const RegisterOp kArgMax({"arg_max", 1, 1, infer_arg, nullptr, true});
const RegisterOp kArgMin({"arg_min", 1, 1, infer_arg, nullptr, true});
const RegisterOp kTopK({"top_k", 1, 1, infer_top_k, top_k_gradient});
const RegisterOp kCumsum({"cumsum", 1, 1, infer_cumsum, cumsum_gradient});

Value* arg(const char* op, Value* x, int64_t axis, bool keep_dims) {
  Attributes attrs{{"axis", axis}};
  if (keep_dims) attrs.set("keep_dims", int64_t{1});
  return x->graph().add(op, {x}, std::move(attrs))->output();
}

}  // namespace

namespace ops {

Value* arg_max(Value* x, int64_t axis, bool keep_dims) { return arg("arg_max", x, axis, keep_dims); }
Value* arg_min(Value* x, int64_t axis, bool keep_dims) { return arg("arg_min", x, axis, keep_dims); }

TopK top_k(Value* x, int64_t k, int64_t axis, bool largest) {
  Attributes attrs{{"k", k}, {"axis", axis}};
  if (!largest) attrs.set("smallest", int64_t{1});
  const Node* node = x->graph().add("top_k", {x}, std::move(attrs));
  return {node->output(0), node->output(1)};
}

Value* cumsum(Value* x, int64_t axis, bool exclusive, bool reverse) {
  Attributes attrs{{"axis", axis}};
  if (exclusive) attrs.set("exclusive", int64_t{1});
  if (reverse) attrs.set("reverse", int64_t{1});
  return x->graph().add("cumsum", {x}, std::move(attrs))->output();
}

}  // namespace ops
}  // namespace thalweg
