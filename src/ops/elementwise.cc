// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/elementwise.h"

#include <algorithm>
#include <cstring>

#include "ops/broadcast.h"
#include "ops/broadcast_index.h"
#include "ops/ids.h"
#include "tensor/dtype.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/shape.h"
#include "thalweg/stored_types.h"

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

void choose(const ReferenceCall& call) {
  const BroadcastIndex condition(call.in(0).shape(), call.out().shape());
  const BroadcastIndex left(call.in(1).shape(), call.out().shape());
  const BroadcastIndex right(call.in(2).shape(), call.out().shape());
  const bool* chosen = call.in(0).data<bool>();
  dispatch(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* y = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      y[i] = chosen[condition(i)] ? call.in(1).data<T>()[left(i)] : call.in(2).data<T>()[right(i)];
    }
  });
}

std::vector<TensorType> infer_cast(const InferContext& context) {
  return {{dtype_from_name(context.attrs().text("to")), context.shape(0)}};
}

void cast_gradient(GradientContext& context) {
  if (is_floating(context.input(0)->dtype())) {
    context.set(0, ops::cast(context.output_gradient(), context.input(0)->dtype()));
  }
}

void convert(const ReferenceCall& call) {
  const DType to = call.out().dtype();
  const stored::Narrowing how{call.attrs().flag("saturate"), call.attrs().text("round_mode")};
  const Tensor converted = stored::is_narrow(to) ? stored::narrowed(call.in(0), to, how) : call.in(0).to(to);
  std::memcpy(call.out().raw(), converted.raw(), converted.num_bytes());
}

void negate(const ReferenceCall& call) {
  for (int64_t i = 0; i < call.out().num_elements(); ++i) call.out().data<bool>()[i] = !call.in(0).data<bool>()[i];
}

std::vector<TensorType> infer_bit_not(const InferContext& context) {
  context.require(!is_floating(context.dtype(0)) && context.dtype(0) != DType::kBool, "the input must be integers");
  return {context.type(0)};
}

void flip(const ReferenceCall& call) {
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const T* x = call.in(0).data<T>();
      for (int64_t i = 0; i < call.out().num_elements(); ++i) call.out().data<T>()[i] = static_cast<T>(~x[i]);
    }
  });
}

const RegisterOp kWhere(op::kWhere, 3, "Elements of a where a condition holds, of b elsewhere.", infer_where,
                        where_gradient, {},
                        {.reference = choose, .traits = Trait::kElementwise, .onnx = {{"Where", 9}}});
const RegisterOp kCast(op::kCast, 1, "The same numbers in another element type.", infer_cast, cast_gradient,
                       {attr::dtype("to", "", "that type").needed(),
                        attr::flag("saturate", "floats too large for 8 bits become the largest of them", true),
                        attr::text("round_mode", "up", "towards which power of two").one_of({"up", "down", "nearest"})},
                       {.reference = convert, .traits = Trait::kElementwise | Trait::kSameIfSameType});
const RegisterOp kNot(op::kLogicalNot, 1, "Whether x is false.", same_as_input(), nullptr, {},
                      {.zero_gradient = true,
                       .reference = negate,
                       .traits = Trait::kElementwise,
                       .onnx = {{"Not"}},
                       .torch = {"logical_not.default"}});
const RegisterOp kBitNot(
    op::kBitNot, 1, "The bits that x does not have.", infer_bit_not, nullptr, {},
    {.zero_gradient = true, .reference = flip, .traits = Trait::kElementwise, .onnx = {{"BitwiseNot", 18}}});

Value* binary(OpId op, Value* a, Value* b, const std::string& name = "") {
  return a->graph().add(op, {a, b}, {}, name)->output();
}

}  // namespace

namespace ops {

Value* add(Value* a, Value* b, const std::string& name) { return binary(op::kAdd, a, b, name); }
Value* sub(Value* a, Value* b, const std::string& name) { return binary(op::kSub, a, b, name); }
Value* mul(Value* a, Value* b, const std::string& name) { return binary(op::kMul, a, b, name); }
Value* div(Value* a, Value* b, const std::string& name) { return binary(op::kDiv, a, b, name); }
Value* pow(Value* a, Value* b, const std::string& name) { return binary(op::kPow, a, b, name); }
Value* minimum(Value* a, Value* b, const std::string& name) { return binary(op::kMinimum, a, b, name); }
Value* maximum(Value* a, Value* b, const std::string& name) { return binary(op::kMaximum, a, b, name); }

Value* add(Value* a, double b) { return add(a, scalar_like(a, b)); }
Value* sub(Value* a, double b) { return sub(a, scalar_like(a, b)); }
Value* mul(Value* a, double b) { return mul(a, scalar_like(a, b)); }
Value* div(Value* a, double b) { return div(a, scalar_like(a, b)); }
Value* pow(Value* a, double b) { return pow(a, scalar_like(a, b)); }
Value* rsub(double a, Value* b) { return sub(scalar_like(b, a), b); }

Value* equal(Value* a, Value* b) { return binary(op::kEqual, a, b); }
Value* less(Value* a, Value* b) { return binary(op::kLess, a, b); }
Value* less_equal(Value* a, Value* b) { return binary(op::kLessEqual, a, b); }
Value* greater(Value* a, Value* b) { return binary(op::kGreater, a, b); }
Value* greater_equal(Value* a, Value* b) { return binary(op::kGreaterEqual, a, b); }
Value* logical_and(Value* a, Value* b) { return binary(op::kLogicalAnd, a, b); }
Value* logical_or(Value* a, Value* b) { return binary(op::kLogicalOr, a, b); }
Value* logical_xor(Value* a, Value* b) { return binary(op::kLogicalXor, a, b); }
Value* logical_not(Value* a) { return a->graph().add(op::kLogicalNot, {a})->output(); }

Value* modulo(Value* a, Value* b, bool truncated) {
  return a->graph().add(op::kModulo, {a, b}, {{"truncated", int64_t{truncated}}})->output();
}
Value* bit_and(Value* a, Value* b) { return binary(op::kBitAnd, a, b); }
Value* bit_or(Value* a, Value* b) { return binary(op::kBitOr, a, b); }
Value* bit_xor(Value* a, Value* b) { return binary(op::kBitXor, a, b); }
Value* bit_not(Value* a) { return a->graph().add(op::kBitNot, {a})->output(); }
Value* shift_left(Value* a, Value* b) { return binary(op::kShiftLeft, a, b); }
Value* shift_right(Value* a, Value* b) { return binary(op::kShiftRight, a, b); }

Value* where(Value* condition, Value* a, Value* b) {
  return condition->graph().add(op::kWhere, {condition, a, b})->output();
}

Value* cast(Value* x, DType dtype) {
  if (x->dtype() == dtype) return x;
  return x->graph().add(op::kCast, {x}, {{"to", std::string(name_of(dtype))}})->output();
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
