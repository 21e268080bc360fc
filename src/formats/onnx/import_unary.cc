// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Functions of one value, element by element.
#include <cmath>
#include <limits>

#include "formats/onnx/converter.h"
#include "formats/onnx/import_common.h"
#include "ops/ids.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

template <Value* (*Function)(Value*)>
Value* apply(const NodeContext& context) {
  return Function(context.input(0));
}

// Integers have no unary kernels: these few functions are built from arithmetic.
Value* negative(const NodeContext& context) {
  Value* x = context.input(0);
  return is_floating(x->dtype()) ? ops::neg(x) : ops::sub(zero_like(x), x);
}

Value* sign(const NodeContext& context) {
  Value* x = context.input(0);
  if (is_floating(x->dtype())) return ops::sign(x);
  Value* positive = ops::cast(ops::greater(x, zero_like(x)), x->dtype());
  return ops::sub(positive, ops::cast(ops::less(x, zero_like(x)), x->dtype()));
}

Value* relu(const NodeContext& context) {
  Value* x = context.input(0);
  return is_floating(x->dtype()) ? ops::relu(x, context.name()) : ops::maximum(x, zero_like(x));
}

Value* selu(const NodeContext& context) {
  // The defaults of both are the same constants, rounded to f32 here.
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  constexpr double kOldAlpha = 1.6732, kOldScale = 1.0507;
  const bool old = context.opset() < 6;
  const double alpha = context.real("alpha", old ? kOldAlpha : kAlpha);
  const double gamma = context.real("gamma", old ? kOldScale : kScale);
  if (std::abs(alpha - kAlpha) < 1e-6 && std::abs(gamma - kScale) < 1e-6) return ops::selu(context.input(0));
  return ops::mul(ops::elu(context.input(0), alpha), gamma);
}

Value* gelu(const NodeContext& context) {
  const std::string form = context.text("approximate", "none");
  context.require(form == "none" || form == "tanh", "unknown approximation '", form, "'");
  return ops::gelu(context.input(0), form == "tanh");
}

Value* swish(const NodeContext& context) {
  Value* x = context.input(0);
  const double alpha = context.real("alpha", 1.0);
  return alpha == 1.0 ? ops::silu(x) : ops::mul(x, ops::sigmoid(ops::mul(x, alpha)));
}

Value* shrink(const NodeContext& context) {
  Value* x = context.input(0);
  const double bias = context.real("bias", 0.0), lambda = context.real("lambd", 0.5);
  Value* above = ops::where(ops::greater(x, ops::scalar_like(x, lambda)), ops::sub(x, bias), zero_like(x));
  return ops::where(ops::less(x, ops::scalar_like(x, -lambda)), ops::add(x, bias), above);
}

/// Before opset 7 slopes did not broadcast as other operands do, but went along the channels.
Value* prelu(const NodeContext& context) {
  if (context.opset() < 7) return ops::prelu(context.input(0), context.input(1));
  return context.graph().add(op::kPrelu, {context.input(0), context.input(1)}, {}, context.name())->output();
}

Value* is_inf(const NodeContext& context) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value* x = context.input(0);
  const bool negative = context.flag("detect_negative", true), positive = context.flag("detect_positive", true);
  Value* above = ops::equal(x, ops::scalar_like(x, positive ? kInfinity : -kInfinity));
  return negative && positive   ? ops::logical_or(above, ops::equal(x, ops::scalar_like(x, -kInfinity)))
         : negative || positive ? above
                                : ops::logical_and(above, ops::logical_not(above));
}

Value* identity(const NodeContext& context) { return context.input(0); }

const RegisterConverters kConverters({
    {"Identity", single(identity)},
    {"Abs", single(apply<absolute>)},
    {"Neg", single(negative)},
    {"Sign", single(sign)},
    {"Relu", single(relu)},
    {"Selu", single(selu)},
    {"Gelu", single(gelu)},
    {"Swish", single(swish)},
    {"Shrink", single(shrink)},
    {"PRelu", single(prelu)},
    {"IsInf", single(is_inf)},
});

}  // namespace
}  // namespace thalweg::onnx
