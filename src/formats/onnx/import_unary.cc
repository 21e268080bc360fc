// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Functions of one value, element by element.
#include <cmath>
#include <limits>

#include "formats/onnx/converter.h"
#include "formats/onnx/import_common.h"
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

Value* leaky_relu(const NodeContext& context) {
  return ops::leaky_relu(context.input(0), context.real("alpha", 0.01F));
}
Value* elu(const NodeContext& context) { return ops::elu(context.input(0), context.real("alpha", 1.0)); }
Value* celu(const NodeContext& context) { return ops::celu(context.input(0), context.real("alpha", 1.0)); }

Value* selu(const NodeContext& context) {
  // The defaults of both are the same constants, rounded to f32 here.
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  const double alpha = context.real("alpha", kAlpha), gamma = context.real("gamma", kScale);
  if (std::abs(alpha - kAlpha) < 1e-6 && std::abs(gamma - kScale) < 1e-6) return ops::selu(context.input(0));
  return ops::mul(ops::elu(context.input(0), alpha), gamma);
}

Value* hard_sigmoid(const NodeContext& context) {
  const Attributes attrs{{"alpha", context.real("alpha", 0.2F)}, {"beta", context.real("beta", 0.5)}};
  return context.graph().add("hard_sigmoid", {context.input(0)}, attrs, context.name())->output();
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

Value* softplus(const NodeContext& context) { return ops::softplus(context.input(0)); }

Value* thresholded_relu(const NodeContext& context) {
  return ops::threshold(context.input(0), context.real("alpha", 1.0), 0.0);
}

Value* shrink(const NodeContext& context) {
  Value* x = context.input(0);
  const double bias = context.real("bias", 0.0), lambda = context.real("lambd", 0.5);
  Value* above = ops::where(ops::greater(x, ops::scalar_like(x, lambda)), ops::sub(x, bias), zero_like(x));
  return ops::where(ops::less(x, ops::scalar_like(x, -lambda)), ops::add(x, bias), above);
}

Value* prelu(const NodeContext& context) {
  Value* x = context.input(0);
  return ops::where(ops::less(x, zero_like(x)), ops::mul(x, context.input(1)), x);
}

Value* is_nan(const NodeContext& context) { return ops::logical_not(ops::equal(context.input(0), context.input(0))); }

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
    {"LeakyRelu", single(leaky_relu)},
    {"Elu", single(elu)},
    {"Celu", single(celu)},
    {"Selu", single(selu)},
    {"Gelu", single(gelu)},
    {"Swish", single(swish)},
    {"Mish", single(apply<ops::mish>)},
    {"Sigmoid", single(apply<ops::sigmoid>)},
    {"HardSigmoid", single(hard_sigmoid)},
    {"HardSwish", single(apply<ops::hard_swish>)},
    {"Tanh", single(apply<ops::tanh>)},
    {"Softplus", single(softplus)},
    {"Softsign", single(apply<ops::softsign>)},
    {"ThresholdedRelu", single(thresholded_relu)},
    {"Shrink", single(shrink)},
    {"PRelu", single(prelu)},
    {"Exp", single(apply<ops::exp>)},
    {"Log", single(apply<ops::log>)},
    {"Sqrt", single(apply<ops::sqrt>)},
    {"Reciprocal", single(apply<ops::reciprocal>)},
    {"Floor", single(apply<ops::floor>)},
    {"Ceil", single(apply<ops::ceil>)},
    {"Round", single(apply<ops::round>)},
    {"Erf", single(apply<ops::erf>)},
    {"Sin", single(apply<ops::sin>)},
    {"Cos", single(apply<ops::cos>)},
    {"Tan", single(apply<ops::tan>)},
    {"Asin", single(apply<ops::asin>)},
    {"Acos", single(apply<ops::acos>)},
    {"Atan", single(apply<ops::atan>)},
    {"Sinh", single(apply<ops::sinh>)},
    {"Cosh", single(apply<ops::cosh>)},
    {"Asinh", single(apply<ops::asinh>)},
    {"Acosh", single(apply<ops::acosh>)},
    {"Atanh", single(apply<ops::atanh>)},
    {"IsNaN", single(is_nan)},
    {"IsInf", single(is_inf)},
});

}  // namespace
}  // namespace thalweg::onnx
