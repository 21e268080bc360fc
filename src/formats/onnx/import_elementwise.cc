// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators on two or more values element by element, comparisons, logic, choice and conversion.
#include <cmath>
#include <limits>

#include "formats/onnx/converter.h"
#include "formats/onnx/tensor_data.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

template <Value* (*Function)(Value*, Value*, const std::string&)>
Value* variadic(const NodeContext& context) {
  Value* result = context.input(0);
  for (size_t i = 1; i < context.num_inputs(); ++i) result = Function(result, context.input(i), context.name());
  return result;
}

Value* mean(const NodeContext& context) {
  return ops::div(variadic<ops::add>(context), static_cast<double>(context.num_inputs()));
}

/// The result has the type of the base, whatever that of the exponent.
Value* power(const NodeContext& context) {
  Value* base = context.input(0);
  Value* exponent = context.input(1);
  if (base->dtype() == exponent->dtype()) return ops::pow(base, exponent, context.name());
  Value* wide = ops::pow(ops::cast(base, DType::kF64), ops::cast(exponent, DType::kF64), context.name());
  return ops::cast(wide, base->dtype());
}

Value* modulo(const NodeContext& context) {
  const bool truncated = context.flag("fmod", false);
  context.require(truncated || !is_floating(context.input(0)->dtype()), "fmod must be 1 for floating types");
  return ops::modulo(context.input(0), context.input(1), truncated);
}

Value* bit_shift(const NodeContext& context) {
  const std::string direction = context.text("direction", "");
  context.require(direction == "LEFT" || direction == "RIGHT", "direction must be LEFT or RIGHT, got '", direction,
                  "'");
  return direction == "LEFT" ? ops::shift_left(context.input(0), context.input(1))
                             : ops::shift_right(context.input(0), context.input(1));
}

DType target_type(const NodeContext& context) {
  const auto type = static_cast<DataType>(context.integer("to", 0));
  const auto dtype = dtype_of(type);
  context.require(dtype.has_value(), "element type ", name_of(type), " is not supported");
  return *dtype;
}

Value* cast(const NodeContext& context) { return ops::cast(context.input(0), target_type(context)); }
Value* cast_like(const NodeContext& context) { return ops::cast(context.input(0), context.input(1)->dtype()); }

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
    {"Pow", single(power)},
    {"Mod", single(modulo)},
    {"Max", single(variadic<ops::maximum>)},
    {"Min", single(variadic<ops::minimum>)},
    {"Sum", single(variadic<ops::add>)},
    {"Mean", single(mean)},
    {"BitShift", single(bit_shift)},
    {"Cast", single(cast)},
    {"CastLike", single(cast_like)},
    {"Clip", single(clip)},
});

}  // namespace
}  // namespace thalweg::onnx
