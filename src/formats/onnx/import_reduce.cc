// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Reductions, and what depends on the order of elements along an axis.
#include "formats/onnx/converter.h"
#include "formats/onnx/import_common.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

using Reduction = Value* (*)(Value*, const std::vector<int64_t>&, bool);

/// Axes were an attribute before they became an input: of ReduceSum in opset 13, of the others in 18.
std::vector<int64_t> reduced_axes(const NodeContext& context, int64_t input_since) {
  if (context.opset() < input_since) return context.integers("axes");
  return context.has(1) ? context.content_integers(1) : std::vector<int64_t>();
}

/// `before` and `after` are applied element by element around the reduction.
template <Reduction Function>
Value* reduce(const NodeContext& context, Value* (*before)(Value*), Value* (*after)(Value*)) {
  Value* x = context.input(0);
  const std::vector<int64_t> axes = reduced_axes(context, context.op_type() == "ReduceSum" ? 13 : 18);
  if (before != nullptr) x = before(x);
  // No axes mean all, unless the node says that they mean none.
  const bool none = axes.empty() && context.flag("noop_with_empty_axes", false);
  if (!none && x->shape().rank() > 0) x = Function(x, axes, context.flag("keepdims", true));
  return after != nullptr ? after(x) : x;
}

template <Reduction Function>
Value* plain(const NodeContext& context) {
  return reduce<Function>(context, nullptr, nullptr);
}

Value* squared(Value* x) { return ops::mul(x, x); }
Value* sum_square(const NodeContext& context) { return reduce<ops::reduce_sum>(context, squared, nullptr); }
Value* log_sum(const NodeContext& context) { return reduce<ops::reduce_sum>(context, nullptr, ops::log); }

/// Of the absolute values: also right where nothing is reduced.
Value* l1(const NodeContext& context) { return reduce<ops::reduce_sum>(context, absolute, nullptr); }
Value* l2(const NodeContext& context) { return reduce<ops::reduce_sum>(context, squared, ops::sqrt); }

Value* log_sum_exp(const NodeContext& context) {
  const bool nothing = context.flag("noop_with_empty_axes", false) && reduced_axes(context, 18).empty();
  return nothing ? context.input(0) : plain<ops::reduce_log_sum_exp>(context);
}

/// Truth values are ordered as 0 and 1.
template <Reduction Function>
Value* extremum(const NodeContext& context) {
  if (context.input(0)->dtype() != DType::kBool) return plain<Function>(context);
  return reduce<Function>(
      context, [](Value* x) { return ops::cast(x, DType::kU8); }, [](Value* x) { return ops::cast(x, DType::kBool); });
}

/// Of equal extremes the last, if the node asks for it: the first in reverse.
Value* arg_extremum(const NodeContext& context, Value* (*function)(Value*, int64_t, bool)) {
  Value* x = context.input(0);
  const int64_t axis = normal_axis(context, context.integer("axis", 0), x->shape().rank());
  const bool keep = context.flag("keepdims", true);
  if (!context.flag("select_last_index", false)) return function(x, axis, keep);
  const int64_t size = x->shape()[static_cast<int>(axis)];
  context.require(size != kFree, "select_last_index needs a known size of dimension ", axis);
  Value* reversed = ops::slice(x, {-1}, {-size - 1}, {axis}, {-1});
  return ops::rsub(static_cast<double>(size - 1), function(reversed, axis, keep));
}

std::vector<Value*> top_k(const NodeContext& context) {
  const int64_t k = context.opset() < 10 ? context.integer("k", 1) : context.content_integer(1);
  const auto result = ops::top_k(context.input(0), k, context.integer("axis", -1), context.flag("largest", true));
  return {result.values, result.indices};
}

Value* cumsum(const NodeContext& context) {
  return ops::cumsum(context.input(0), context.content_integer(1), context.flag("exclusive", false),
                     context.flag("reverse", false));
}

/// 1 at the first largest element along the axis, 0 elsewhere.
Value* hardmax(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const int64_t axis = normal_axis(context, context.integer("axis", context.opset() < 13 ? 1 : -1), shape.rank());
  if (context.opset() < 13) x = ops::flatten(x, axis);
  const int64_t along = context.opset() < 13 ? 1 : axis;
  std::vector<int64_t> counting(static_cast<size_t>(x->shape().rank()), 1);
  counting[static_cast<size_t>(along)] = -1;
  Value* positions = ops::reshape(positions_of(context, x->shape()[static_cast<int>(along)]), counting);
  Value* hit = ops::equal(ops::arg_max(x, along, true), positions);
  return ops::reshape(ops::cast(hit, x->dtype()), shape.dims());
}

const RegisterConverters kConverters({
    {"ReduceSum", single(plain<ops::reduce_sum>)},
    {"ReduceMean", single(plain<ops::reduce_mean>)},
    {"ReduceMax", single(extremum<ops::reduce_max>)},
    {"ReduceMin", single(extremum<ops::reduce_min>)},
    {"ReduceProd", single(plain<ops::reduce_prod>)},
    {"ReduceL1", single(l1)},
    {"ReduceL2", single(l2)},
    {"ReduceLogSum", single(log_sum)},
    {"ReduceLogSumExp", single(log_sum_exp)},
    {"ReduceSumSquare", single(sum_square)},
    {"ArgMax", single([](const NodeContext& context) { return arg_extremum(context, ops::arg_max); })},
    {"ArgMin", single([](const NodeContext& context) { return arg_extremum(context, ops::arg_min); })},
    {"TopK", top_k},
    {"CumSum", single(cumsum)},
    {"Hardmax", single(hardmax)},
});

}  // namespace
}  // namespace thalweg::onnx
