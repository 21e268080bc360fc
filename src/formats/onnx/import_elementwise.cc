// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators on two or more values element by element, comparisons, logic, choice and conversion.
#include <cmath>
#include <limits>

#include "formats/onnx/import_common.h"
#include "formats/onnx/tensor_data.h"
#include "ops/ids.h"
#include "ops/ids_rare.h"
#include "thalweg/ops.h"
#include "thalweg/stored_types.h"

namespace thalweg::onnx {
namespace {

template <Value* (*Function)(Value*, Value*, const std::string&)>
Value* variadic(const NodeContext& context) {
  Value* result = context.input(0);
  for (size_t i = 1; i < context.num_inputs(); ++i) result = Function(result, context.input(i), context.name());
  return result;
}

/// An operator that is one of our ops, but whose operands were lined up in another way before opset 7.
Converter lined_up(OpId op) {
  return single([op](const NodeContext& context) {
    return context.graph().add(op, {context.input(0), aligned_operand(context)}, {}, context.name())->output();
  });
}

Value* mean(const NodeContext& context) {
  return ops::div(variadic<ops::add>(context), static_cast<double>(context.num_inputs()));
}

/// The result has the type of the base, whatever that of the exponent.
Value* power(const NodeContext& context) {
  Value* base = context.input(0);
  Value* exponent = aligned_operand(context);
  if (base->dtype() == exponent->dtype()) return ops::pow(base, exponent, context.name());
  Value* wide = ops::pow(ops::cast(base, DType::kF64), ops::cast(exponent, DType::kF64), context.name());
  return ops::cast(wide, base->dtype());
}

Value* modulo(const NodeContext& context) {
  const bool truncated = context.flag("fmod", false);
  return ops::modulo(context.input(0), context.input(1), truncated);
}

Value* bit_shift(const NodeContext& context) {
  const std::string direction = context.text("direction", "");
  context.require(direction == "LEFT" || direction == "RIGHT", "direction must be LEFT or RIGHT, got '", direction,
                  "'");
  return direction == "LEFT" ? ops::shift_left(context.input(0), context.input(1))
                             : ops::shift_right(context.input(0), context.input(1));
}

/// Before opset 6 it was a text.
DType target_type(const NodeContext& context) {
  if (context.opset() < 6) {
    const std::string name = context.text("to", "");
    const auto known = data_type_from_name(name);
    context.require(known.has_value() && dtype_of(*known).has_value(), "element type '", name, "' is not supported");
    return *dtype_of(*known);
  }
  const auto type = static_cast<DataType>(context.integer("to", 0));
  const auto dtype = dtype_of(type);
  context.require(dtype.has_value(), "element type ", name_of(type), " is not supported");
  return *dtype;
}

Value* convert(const NodeContext& context, DType dtype) {
  context.require(!stored::is_object(dtype), "numbers become texts on the host only");
  Value* x = context.input(0);
  if (x->dtype() == dtype || !stored::is_narrow(dtype)) return ops::cast(x, dtype);
  Attributes attrs{{"to", std::string(name_of(dtype))}};
  attrs.set("saturate", context.integer("saturate", 1));
  attrs.set("round_mode", context.text("round_mode", "up"));
  return context.graph().add(op::kCast, {x}, std::move(attrs))->output();
}

Value* cast(const NodeContext& context) { return convert(context, target_type(context)); }
Value* cast_like(const NodeContext& context) { return convert(context, context.input(1)->dtype()); }

Value* bit_cast(const NodeContext& context) {
  const Attributes attrs{{"to", std::string(name_of(target_type(context)))}};
  return context.graph().add(op::kBitCast, {context.input(0)}, attrs, context.name())->output();
}

/// A bound that is absent is null.
Value* limited(Value* x, Value* low, Value* high) {
  if (low != nullptr) x = ops::maximum(x, low);
  return high != nullptr ? ops::minimum(x, high) : x;
}

Value* clip(const NodeContext& context) {
  Value* x = context.input(0);
  const bool inputs = context.opset() >= 11;
  const bool known = !inputs || ((!context.has(1) || context.is_known(1)) && (!context.has(2) || context.is_known(2)));
  if (!known || !is_floating(x->dtype())) {
    context.require(inputs, "limits of integers must be inputs");
    return limited(x, context.optional(1), context.optional(2));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = context.real("min", -kInfinity);
  double high = context.real("max", kInfinity);
  if (inputs && context.has(1)) low = context.content_number(1);
  if (inputs && context.has(2)) high = context.content_number(2);
  // Where the limits cross, ONNX takes the upper one, and so do maximum and minimum.
  if (low <= high) return ops::clip(x, low, high);
  return limited(x, ops::scalar_like(x, low), ops::scalar_like(x, high));
}

const RegisterConverters kConverters({
    {"Add", lined_up(op::kAdd)},
    {"Sub", lined_up(op::kSub)},
    {"Mul", lined_up(op::kMul)},
    {"Div", lined_up(op::kDiv)},
    {"Equal", lined_up(op::kEqual)},
    {"Less", lined_up(op::kLess)},
    {"Greater", lined_up(op::kGreater)},
    {"And", lined_up(op::kLogicalAnd)},
    {"Or", lined_up(op::kLogicalOr)},
    {"Xor", lined_up(op::kLogicalXor)},
    {"Pow", single(power)},
    {"Mod", single(modulo)},
    {"Max", single(variadic<ops::maximum>)},
    {"Min", single(variadic<ops::minimum>)},
    {"Sum", single(variadic<ops::add>)},
    {"Mean", single(mean)},
    {"BitShift", single(bit_shift)},
    {"Cast", single(cast), op::kCast},
    {"CastLike", single(cast_like)},
    {"BitCast", single(bit_cast)},
    {"Clip", single(clip)},
});

}  // namespace
}  // namespace thalweg::onnx
