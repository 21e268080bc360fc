// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Layers that work element by element, and Softmax.
#include <cmath>

#include "formats/caffe/layer_context.h"
#include "thalweg/ops.h"

namespace thalweg::caffe {
namespace {

using OneToOne = Value* (*)(Value*);

/// A layer without parameters.
Converter plain(OneToOne function, const char* message = "") {
  return [=](LayerContext& context) -> std::vector<Value*> {
    context.require_counts(1);
    if (*message != '\0') context.fields(message);
    return {function(context.bottom())};
  };
}

Value* relu6(Value* x) { return ops::clip(x, 0, 6); }
Value* softplus(Value* x) { return ops::softplus(x); }

std::vector<Value*> convert_relu(LayerContext& context) {
  context.require_counts(1);
  const double slope = context.fields("relu_param").real("negative_slope", 0.0);
  return {slope == 0 ? ops::relu(context.bottom(), context.name()) : ops::leaky_relu(context.bottom(), slope)};
}

std::vector<Value*> convert_prelu(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("prelu_param");
  Value* x = context.bottom();
  context.require(x->shape().rank() >= 2, "reads ", x->shape(), ", which has no channels");
  const bool shared = fields.flag("channel_shared", false);
  fields.ignore({"filler"});
  const Shape shape{shared ? 1 : x->shape()[1]};
  return {ops::prelu(x, context.weight(0, "weight", shape, LayerContext::filler(fields, "filler", 0.25)))};
}

std::vector<Value*> convert_elu(LayerContext& context) {
  context.require_counts(1);
  return {ops::elu(context.bottom(), context.fields("elu_param").real("alpha", 1.0))};
}

std::vector<Value*> convert_swish(LayerContext& context) {
  context.require_counts(1);
  const double beta = context.fields("swish_param").real("beta", 1.0);
  Value* x = context.bottom();
  return {beta == 1 ? ops::silu(x) : ops::mul(x, ops::sigmoid(ops::mul(x, beta)))};
}

/// shift + scale * x.
Value* shifted(const Fields& fields, Value* x) {
  const double scale = fields.real("scale", 1.0), shift = fields.real("shift", 0.0);
  if (scale != 1) x = ops::mul(x, scale);
  return shift == 0 ? x : ops::add(x, shift);
}

/// The logarithm of the base of powers and logarithms; -1 stands for e.
double log_of_base(const LayerContext& context, const Fields& fields) {
  const double base = fields.real("base", -1.0);
  context.require(base == -1 || base > 0, "base is ", base, ", and must be above 0, or -1 for e");
  context.require(base != 1, "base is 1");
  return base == -1 ? 1.0 : std::log(base);
}

std::vector<Value*> convert_power(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("power_param");
  const double power = fields.real("power", 1.0);
  Value* x = shifted(fields, context.bottom());
  if (power == 1) return {x};
  return {power == 2 ? ops::square(x) : ops::pow(x, power)};
}

std::vector<Value*> convert_exp(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("exp_param");
  const double log_base = log_of_base(context, fields);
  Value* x = shifted(fields, context.bottom());
  return {ops::exp(log_base == 1 ? x : ops::mul(x, log_base))};
}

std::vector<Value*> convert_log(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("log_param");
  const double log_base = log_of_base(context, fields);
  Value* logarithm = ops::log(shifted(fields, context.bottom()));
  return {log_base == 1 ? logarithm : ops::mul(logarithm, 1.0 / log_base)};
}

std::vector<Value*> convert_threshold(LayerContext& context) {
  context.require_counts(1);
  Value* x = context.bottom();
  const double threshold = context.fields("threshold_param").real("threshold", 0.0);
  return {ops::cast(ops::greater(x, ops::scalar_like(x, threshold)), x->dtype())};
}

std::vector<Value*> convert_clip(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("clip_param");
  context.require(fields.has("min") && fields.has("max"), "needs a min and a max");
  return {ops::clip(context.bottom(), fields.real("min", 0.0), fields.real("max", 0.0))};
}

std::vector<Value*> convert_dropout(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("dropout_param");
  fields.ignore({"scale_train", "sample_weights_test"});
  const double ratio = fields.real("dropout_ratio", 0.5);
  context.require(ratio >= 0 && ratio < 1, "dropout_ratio is ", ratio, ", and must be from 0 to less than 1");
  const auto seed = static_cast<int64_t>(nn::init::key_of(context.options().seed, context.name()) >> 1);
  return {ops::dropout(context.bottom(), ratio, seed, context.name())};
}

std::vector<Value*> convert_softmax(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("softmax_param");
  const int axis = context.axis(fields, "axis", 1, context.bottom()->shape().rank());
  return {ops::softmax(context.bottom(), axis, context.name())};
}

std::vector<Value*> convert_eltwise(LayerContext& context) {
  context.require_counts(-1);
  const Fields& fields = context.fields("eltwise_param");
  fields.ignore({"stable_prod_grad"});
  const std::string operation = fields.choice("operation", "SUM", {"PROD", "SUM", "MAX"});
  const std::vector<double> factors = fields.reals("coeff");
  context.require(factors.empty() || (operation == "SUM" && factors.size() == context.bottoms().size()), "has ",
                  factors.size(), " coeff for ", context.bottoms().size(), " bottoms; only a sum can have them");
  const auto operand = [&](size_t i) {
    Value* x = context.bottom(i);
    context.require(x->shape().rank() == context.bottom()->shape().rank(), "reads ", context.bottom()->shape(), " and ",
                    x->shape(), ", which must be equal");
    return factors.empty() || factors[i] == 1 ? x : ops::mul(x, factors[i]);
  };
  Value* result = operand(0);
  for (size_t i = 1; i < context.bottoms().size(); ++i) {
    Value* next = operand(i);
    result = operation == "SUM"    ? ops::add(result, next, i == 1 ? context.name() : "")
             : operation == "PROD" ? ops::mul(result, next)
                                   : ops::maximum(result, next);
  }
  return {result};
}

const RegisterLayers kLayers({
    {"ReLU", convert_relu},
    {"ReLU6", plain(relu6)},
    {"PReLU", convert_prelu},
    {"ELU", convert_elu},
    {"Sigmoid", plain(ops::sigmoid, "sigmoid_param")},
    {"TanH", plain(ops::tanh, "tanh_param")},
    {"AbsVal", plain(ops::abs)},
    {"BNLL", plain(softplus)},
    {"Swish", convert_swish},
    {"Power", convert_power},
    {"Exp", convert_exp},
    {"Log", convert_log},
    {"Threshold", convert_threshold},
    {"Clip", convert_clip},
    {"Dropout", convert_dropout},
    {"Softmax", convert_softmax},
    {"Eltwise", convert_eltwise},
});

}  // namespace
}  // namespace thalweg::caffe
