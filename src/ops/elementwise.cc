// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/elementwise.h"

#include <algorithm>

#include "ops/broadcast.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/shape.h"

namespace thalweg {

Shape broadcast_shapes(const InferContext& context, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (int i = 1; i <= rank; ++i) {
    const int64_t left = i <= a.rank() ? a[-i] : 1;
    const int64_t right = i <= b.rank() ? b[-i] : 1;
    int64_t& dim = dims[static_cast<size_t>(rank - i)];
    if (left == right || right == 1) {
      dim = left;
    } else if (left == 1 || left == kFree) {
      dim = right;
    } else if (right == kFree) {
      dim = left;
    } else {
      context.fail("shapes ", a, " and ", b, " do not broadcast");
    }
  }
  return Shape(std::move(dims));
}

namespace {

InferRule broadcasting(bool to_bool) {
  return [to_bool](const InferContext& context) {
    context.require(context.dtype(0) == context.dtype(1), "element types differ");
    const Shape shape = broadcast_shapes(context, context.shape(0), context.shape(1));
    return std::vector<TensorType>{{to_bool ? DType::kBool : context.dtype(0), shape}};
  };
}

/// Sets the gradients of both sides from their values before the broadcast is undone.
void set_binary(GradientContext& context, const std::function<Value*()>& left, const std::function<Value*()>& right) {
  if (context.wants(0)) context.set(0, ops::sum_to(left(), context.input(0)->shape()));
  if (context.wants(1)) context.set(1, ops::sum_to(right(), context.input(1)->shape()));
}

void add_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  set_binary(
      context, [&] { return dy; }, [&] { return dy; });
}

void sub_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  set_binary(
      context, [&] { return dy; }, [&] { return ops::neg(dy); });
}

void mul_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  set_binary(
      context, [&] { return ops::mul(dy, context.input(1)); }, [&] { return ops::mul(dy, context.input(0)); });
}

void div_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  Value* b = context.input(1);
  set_binary(
      context, [&] { return ops::div(dy, b); }, [&] { return ops::neg(ops::div(ops::mul(dy, context.output()), b)); });
}

void pow_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  Value* a = context.input(0);
  Value* b = context.input(1);
  set_binary(
      context, [&] { return ops::mul(dy, ops::mul(b, ops::pow(a, ops::sub(b, 1.0)))); },
      [&] { return ops::mul(dy, ops::mul(context.output(), ops::log(a))); });
}

/// Ties go to the left side.
void extremum_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  Value* a = context.input(0);
  Value* b = context.input(1);
  Value* left_wins = context.node().op_name() == "minimum" ? ops::less_equal(a, b) : ops::greater_equal(a, b);
  Value* zero = ops::scalar_like(dy, 0.0);
  set_binary(
      context, [&] { return ops::where(left_wins, dy, zero); }, [&] { return ops::where(left_wins, zero, dy); });
}

void where_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  Value* zero = ops::scalar_like(dy, 0.0);
  Value* condition = context.input(0);
  if (context.wants(1)) context.set(1, ops::sum_to(ops::where(condition, dy, zero), context.input(1)->shape()));
  if (context.wants(2)) context.set(2, ops::sum_to(ops::where(condition, zero, dy), context.input(2)->shape()));
}

std::vector<TensorType> infer_where(const InferContext& context) {
  context.require(context.dtype(0) == DType::kBool, "the condition must be bool");
  context.require(context.dtype(1) == context.dtype(2), "element types differ");
  const Shape sides = broadcast_shapes(context, context.shape(1), context.shape(2));
  return {{context.dtype(1), broadcast_shapes(context, context.shape(0), sides)}};
}

std::vector<TensorType> infer_cast(const InferContext& context) {
  return {{dtype_from_name(context.attrs().text("to")), context.shape(0)}};
}

void cast_gradient(GradientContext& context) {
  if (is_floating(context.input(0)->dtype())) {
    context.set(0, ops::cast(context.output_gradient(), context.input(0)->dtype()));
  }
}

const RegisterOp kAdd({"add", 2, 2, broadcasting(false), add_gradient});
const RegisterOp kSub({"sub", 2, 2, broadcasting(false), sub_gradient});
const RegisterOp kMul({"mul", 2, 2, broadcasting(false), mul_gradient});
const RegisterOp kDiv({"div", 2, 2, broadcasting(false), div_gradient});
const RegisterOp kPow({"pow", 2, 2, broadcasting(false), pow_gradient});
const RegisterOp kMinimum({"minimum", 2, 2, broadcasting(false), extremum_gradient});
const RegisterOp kMaximum({"maximum", 2, 2, broadcasting(false), extremum_gradient});
const RegisterOp kEqual({"equal", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kLess({"less", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kLessEqual({"less_equal", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kGreater({"greater", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kGreaterEqual({"greater_equal", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kAnd({"logical_and", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kOr({"logical_or", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kXor({"logical_xor", 2, 2, broadcasting(true), nullptr, true});
const RegisterOp kNot({"logical_not", 1, 1, same_as_input(), nullptr, true});
const RegisterOp kWhere({"where", 3, 3, infer_where, where_gradient});
const RegisterOp kCast({"cast", 1, 1, infer_cast, cast_gradient});

Value* binary(const char* op, Value* a, Value* b, const std::string& name = "") {
  return a->graph().add(op, {a, b}, {}, name)->output();
}

}  // namespace

namespace ops {

Value* add(Value* a, Value* b, const std::string& name) { return binary("add", a, b, name); }
Value* sub(Value* a, Value* b, const std::string& name) { return binary("sub", a, b, name); }
Value* mul(Value* a, Value* b, const std::string& name) { return binary("mul", a, b, name); }
Value* div(Value* a, Value* b, const std::string& name) { return binary("div", a, b, name); }
Value* pow(Value* a, Value* b, const std::string& name) { return binary("pow", a, b, name); }
Value* minimum(Value* a, Value* b, const std::string& name) { return binary("minimum", a, b, name); }
Value* maximum(Value* a, Value* b, const std::string& name) { return binary("maximum", a, b, name); }

Value* add(Value* a, double b) { return add(a, scalar_like(a, b)); }
Value* sub(Value* a, double b) { return sub(a, scalar_like(a, b)); }
Value* mul(Value* a, double b) { return mul(a, scalar_like(a, b)); }
Value* div(Value* a, double b) { return div(a, scalar_like(a, b)); }
Value* pow(Value* a, double b) { return pow(a, scalar_like(a, b)); }
Value* rsub(double a, Value* b) { return sub(scalar_like(b, a), b); }

Value* equal(Value* a, Value* b) { return binary("equal", a, b); }
Value* less(Value* a, Value* b) { return binary("less", a, b); }
Value* less_equal(Value* a, Value* b) { return binary("less_equal", a, b); }
Value* greater(Value* a, Value* b) { return binary("greater", a, b); }
Value* greater_equal(Value* a, Value* b) { return binary("greater_equal", a, b); }
Value* logical_and(Value* a, Value* b) { return binary("logical_and", a, b); }
Value* logical_or(Value* a, Value* b) { return binary("logical_or", a, b); }
Value* logical_xor(Value* a, Value* b) { return binary("logical_xor", a, b); }
Value* logical_not(Value* a) { return a->graph().add("logical_not", {a})->output(); }

Value* where(Value* condition, Value* a, Value* b) {
  return condition->graph().add("where", {condition, a, b})->output();
}

Value* cast(Value* x, DType dtype) {
  if (x->dtype() == dtype) return x;
  return x->graph().add("cast", {x}, {{"to", std::string(name_of(dtype))}})->output();
}

Value* scalar_like(Value* like, double value) {
  return like->graph().constant(Tensor::scalar<double>(value).to(like->dtype()));
}

Value* sum_to(Value* x, const Shape& shape) {
  if (x->shape() == shape) return x;
  const int lead = x->shape().rank() - shape.rank();
  std::vector<int64_t> leading, stretched;
  for (int i = 0; i < lead; ++i) leading.push_back(i);
  if (!leading.empty()) x = reduce_sum(x, leading, false);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1 && x->shape()[i] != 1) stretched.push_back(i);
  }
  return stretched.empty() ? x : reduce_sum(x, stretched, true);
}

}  // namespace ops
}  // namespace thalweg
