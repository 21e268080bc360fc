// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/reduce.h"

#include <algorithm>

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_reduce(const InferContext& context) {
  const Shape& from = context.shape(0);
  const std::vector<int64_t> axes = context.attrs().integers("axes");
  const bool keep = context.attrs().flag("keep_dims");
  std::vector<bool> reduced(static_cast<size_t>(from.rank()), axes.empty());
  for (int64_t axis : axes) reduced[static_cast<size_t>(context.axis(axis, from.rank()))] = true;
  std::vector<int64_t> dims;
  for (int i = 0; i < from.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      dims.push_back(from[i]);
    } else if (keep) {
      dims.push_back(1);
    }
  }
  return {{context.dtype(0), Shape(dims)}};
}

/// A value of the reduced shape, lined up with the input again (reduced dimensions of size 1).
Value* with_kept_dims(GradientContext& context, Value* value) {
  if (context.attrs().flag("keep_dims")) return value;
  const int rank = context.input(0)->shape().rank();
  std::vector<int64_t> axes = context.attrs().integers("axes");
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes.empty() ? value : ops::unsqueeze(value, axes);
}

Value* stretch(GradientContext& context, Value* value) {
  return context.graph().add(op::kExpandLike, {with_kept_dims(context, value), context.input(0)})->output();
}

void sum_gradient(GradientContext& context) { context.set(0, stretch(context, context.output_gradient())); }

void mean_gradient(GradientContext& context) {
  const Shape& from = context.input(0)->shape();
  const int64_t count = from.num_elements() / std::max<int64_t>(1, context.output()->shape().num_elements());
  context.set(
      0, stretch(context, ops::mul(context.output_gradient(), 1.0 / static_cast<double>(std::max<int64_t>(1, count)))));
}

/// Equal extremes share the gradient.
void extremum_gradient(GradientContext& context) {
  Value* x = context.input(0);
  Value* hit = ops::cast(ops::equal(x, with_kept_dims(context, context.output())), x->dtype());
  Value* ties = ops::reduce_sum(hit, context.attrs().integers("axes"), true);
  Value* share = ops::div(with_kept_dims(context, context.output_gradient()), ties);
  context.set(0, ops::mul(hit, share));
}

/// The product of all other elements: the whole one divided by the element, unless zeros are among them. A lone zero
/// has the product of the rest; beside it, or where there are more, everything is zero.
void prod_gradient(GradientContext& context) {
  Value* x = context.input(0);
  const std::vector<int64_t> axes = context.attrs().integers("axes");
  Value* zero = ops::scalar_like(x, 0.0);
  Value* is_zero = ops::equal(x, zero);
  Value* others = ops::where(is_zero, ops::scalar_like(x, 1.0), x);
  Value* product = ops::reduce_prod(others, axes, true);
  Value* zeros = ops::reduce_sum(ops::cast(is_zero, x->dtype()), axes, true);
  Value* lone = ops::where(ops::equal(zeros, ops::scalar_like(x, 1.0)), product, zero);
  Value* quotient = ops::where(ops::equal(zeros, zero), ops::div(product, others), zero);
  Value* dy = with_kept_dims(context, context.output_gradient());
  context.set(0, ops::mul(dy, ops::where(is_zero, lone, quotient)));
}

void l1_gradient(GradientContext& context) {
  context.set(0, ops::mul(ops::sign(context.input(0)), with_kept_dims(context, context.output_gradient())));
}

/// Zero where all elements are.
void l2_gradient(GradientContext& context) {
  Value* norm = context.output();
  Value* is_zero = ops::equal(norm, ops::scalar_like(norm, 0.0));
  Value* scale = ops::div(context.output_gradient(), ops::where(is_zero, ops::scalar_like(norm, 1.0), norm));
  context.set(0, ops::mul(context.input(0), with_kept_dims(context, scale)));
}

void log_sum_exp_gradient(GradientContext& context) {
  Value* weights = ops::exp(ops::sub(context.input(0), with_kept_dims(context, context.output())));
  context.set(0, ops::mul(weights, with_kept_dims(context, context.output_gradient())));
}

/// Input 0 broadcast to the shape of input 1, whose content does not matter.
std::vector<TensorType> infer_expand_like(const InferContext& context) {
  return {{context.dtype(0), context.shape(1)}};
}

void expand_like_gradient(GradientContext& context) {
  context.set(0, ops::sum_to(context.output_gradient(), context.input(0)->shape()));
}

const std::vector<AttributeDef> kAttributes{attr::integers("axes", "those that go; all if there are none"),
                                            attr::flag("keep_dims", "they stay, with size 1")};

struct Reduction : RegisterOp {
  Reduction(OpId op, const char* doc, GradientRule gradient)
      : RegisterOp(op, 1, doc, infer_reduce, std::move(gradient), kAttributes) {}
};
const Reduction kSum(op::kReduceSum, "The sum over some axes.", sum_gradient);
const Reduction kMean(op::kReduceMean, "The mean over some axes.", mean_gradient);
const Reduction kMax(op::kReduceMax, "The largest element over some axes.", extremum_gradient);
const Reduction kMin(op::kReduceMin, "The smallest element over some axes.", extremum_gradient);
const Reduction kProd(op::kReduceProd, "The product over some axes.", prod_gradient);
const Reduction kL1(op::kReduceL1, "The sum of absolute values over some axes.", l1_gradient);
const Reduction kL2(op::kReduceL2, "The root of the sum of squares over some axes.", l2_gradient);
const Reduction kLogSumExp(op::kReduceLogSumExp, "log(sum(exp(x))) over some axes, computed without overflow.",
                           log_sum_exp_gradient);
const RegisterOp kExpandLike(op::kExpandLike, 2, "Broadcasts x to the shape of another value.", infer_expand_like,
                             expand_like_gradient, {}, {.traits = Trait::kMovesElements | Trait::kSameIfSameType});

Value* reduce(OpId op, Value* x, const std::vector<int64_t>& axes, bool keep_dims) {
  Attributes attrs;
  if (!axes.empty()) attrs.set("axes", axes);
  if (keep_dims) attrs.set("keep_dims", int64_t{1});
  return x->graph().add(op, {x}, std::move(attrs))->output();
}

}  // namespace

namespace ops {

Value* reduce_sum(Value* x, const std::vector<int64_t>& axes, bool keep) {
  return reduce(op::kReduceSum, x, axes, keep);
}
Value* reduce_mean(Value* x, const std::vector<int64_t>& axes, bool keep) {
  return reduce(op::kReduceMean, x, axes, keep);
}
Value* reduce_max(Value* x, const std::vector<int64_t>& axes, bool keep) {
  return reduce(op::kReduceMax, x, axes, keep);
}
Value* reduce_min(Value* x, const std::vector<int64_t>& axes, bool keep) {
  return reduce(op::kReduceMin, x, axes, keep);
}
Value* reduce_prod(Value* x, const std::vector<int64_t>& axes, bool keep) {
  return reduce(op::kReduceProd, x, axes, keep);
}
Value* reduce_l1(Value* x, const std::vector<int64_t>& axes, bool keep) { return reduce(op::kReduceL1, x, axes, keep); }
Value* reduce_l2(Value* x, const std::vector<int64_t>& axes, bool keep) { return reduce(op::kReduceL2, x, axes, keep); }
Value* reduce_log_sum_exp(Value* x, const std::vector<int64_t>& axes, bool keep) {
  return reduce(op::kReduceLogSumExp, x, axes, keep);
}

}  // namespace ops
}  // namespace thalweg
