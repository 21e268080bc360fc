// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/norm.h"

namespace thalweg {
namespace {

/// Statistics, scale and shift are kept in f32 whatever the activations are, but for checks in double.
DType statistics_type(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

TensorType channel_type(const InferContext& context, size_t x) {
  const Shape& shape = context.shape(x);
  context.require(shape.rank() >= 2, "x must be [N, C, ...]");
  context.require_floating(x);
  return {statistics_type(context.dtype(x)), {shape[1]}};
}

void require_channels(const InferContext& context, size_t index, const TensorType& expected, const char* what) {
  if (!context.has(index)) return;
  const Shape& shape = context.shape(index);
  const bool fits = shape.rank() == 1 && (shape[0] == expected.shape[0] || expected.shape[0] == kFree);
  context.require(fits && context.dtype(index) == expected.dtype, what, " must be ", expected);
}

void require_like(const InferContext& context, size_t index, size_t x, const char* what) {
  if (!context.has(index)) return;
  context.require(context.dtype(index) == context.dtype(x) && context.shape(index).rank() == context.shape(x).rank(),
                  what, " must be like x");
  for (int i = 0; i < context.shape(x).rank(); ++i) {
    const int64_t own = context.shape(index)[i], other = context.shape(x)[i];
    context.require(own == other || own == kFree || other == kFree, what, " must be like x");
  }
}

std::vector<TensorType> infer_batch_norm(const InferContext& context) {
  const TensorType channels = channel_type(context, 0);
  require_channels(context, 1, channels, "scale");
  require_channels(context, 2, channels, "shift");
  require_like(context, 3, 0, "residual");
  return {context.type(0), channels, channels};
}

/// The mask of the rectifier is computed again from x where that is enough, so that y need not be kept; a residual
/// makes it depend on more, but then y is the input of the next layers and kept anyway.
void batch_norm_gradient(GradientContext& context) {
  TW_REQUIRE(context.output_gradient(1) == nullptr && context.output_gradient(2) == nullptr, describe(context.node()),
             ": its statistics have no gradient; differentiate y only");
  const bool relu = context.attrs().text("activation") == op::kRelu;
  const bool residual = context.input(3) != nullptr;
  Value* dy = context.output_gradient();
  Attributes attrs{{"epsilon", context.attrs().real("epsilon")}};
  const bool residual_gradient = relu && residual && context.wants(3);
  if (residual_gradient) attrs.set("residual_gradient", int64_t{1});
  Value* shift = relu && !residual ? context.input(2) : nullptr;
  Value* y = relu && residual ? context.output() : nullptr;
  const Node* grad = context.graph().add(
      "batch_norm_grad",
      {dy, context.input(0), context.input(1), context.output(1), context.output(2), shift, y, nullptr}, attrs,
      context.node().name().empty() ? "" : context.node().name() + ".grad");
  for (size_t i = 0; i < 3; ++i) {
    if (context.wants(i)) context.set(i, grad->output(i));
  }
  if (residual && context.wants(3)) context.set(3, residual_gradient ? grad->output(3) : dy);
}

/// batch_norm_grad(dy, x, scale, mean, variance, shift or null, y or null, dy2 or null) gives dx, dscale, dshift and,
/// with attribute "residual_gradient", the masked dy. The rectifier's mask comes from y, else from shift, else there is
/// none. dy2 is added to dy. With attribute "frozen" the statistics are constants.
std::vector<TensorType> infer_batch_norm_grad(const InferContext& context) {
  const TensorType channels = channel_type(context, 1);
  require_like(context, 0, 1, "dy");
  require_channels(context, 2, channels, "scale");
  require_channels(context, 3, channels, "mean");
  require_channels(context, 4, channels, "variance");
  require_channels(context, 5, channels, "shift");
  require_like(context, 6, 1, "y");
  require_like(context, 7, 1, "dy2");
  std::vector<TensorType> types{context.type(1), channels, channels};
  if (context.attrs().flag("residual_gradient")) types.push_back(context.type(1));
  return types;
}

std::vector<TensorType> infer_batch_norm_inference(const InferContext& context) {
  const TensorType channels = channel_type(context, 0);
  require_channels(context, 1, channels, "scale");
  require_channels(context, 2, channels, "shift");
  require_channels(context, 3, channels, "mean");
  require_channels(context, 4, channels, "variance");
  return {context.type(0)};
}

/// The statistics count as constants: this is how frozen layers are trained through.
void batch_norm_inference_gradient(GradientContext& context) {
  const Attributes attrs{{"epsilon", context.attrs().real("epsilon")}, {"frozen", int64_t{1}}};
  const Node* grad = context.graph().add(op::kBatchNormGrad,
                                         {context.output_gradient(), context.input(0), context.input(1),
                                          context.input(3), context.input(4), nullptr, nullptr, nullptr},
                                         attrs);
  for (size_t i = 0; i < 3; ++i) {
    if (context.wants(i)) context.set(i, grad->output(i));
  }
}

const AttributeDef kEpsilon = attr::real("epsilon", 1e-5, "added to the variance").at_least(0.0);
const AttributeDef kMomentum =
    attr::real("momentum", 0.9, "the share that running statistics keep at each step").between(0.0, 1.0);
const std::vector<AttributeDef> kTrainingAttributes{
    kEpsilon, attr::text("activation", "", "applied to the result").one_of({"", op::kRelu}),
    attr::text("running_mean", "", "the state that inference takes the mean from"),
    attr::text("running_variance", "", "the state that inference takes the variance from"), kMomentum};
const std::vector<AttributeDef> kGradAttributes{kEpsilon, attr::flag("residual_gradient", "also gives the masked dy"),
                                                attr::flag("frozen", "the statistics are constants")};

const RegisterOp kBatchNorm(op::kBatchNorm, {3, 4},
                            "Normalises each channel by the statistics of the batch, then scales and shifts it.",
                            infer_batch_norm, batch_norm_gradient, kTrainingAttributes,
                            {.traits = Trait::kFollowsBf16 | Trait::kTakesActivation, .residual_input = 3});
const RegisterOp kBatchNormGrad(op::kBatchNormGrad, {5, 8}, "", infer_batch_norm_grad, nullptr, kGradAttributes);
const RegisterOp kBatchNormInference(op::kBatchNormInference, 5,
                                     "Normalises each channel by given statistics, then scales and shifts it.",
                                     infer_batch_norm_inference, batch_norm_inference_gradient, {kEpsilon, kMomentum},
                                     {.traits = Trait::kFollowsBf16});

}  // namespace

namespace ops {

BatchNormOutputs batch_norm(Value* x, Value* scale, Value* shift, Value* residual, double epsilon,
                            const std::string& activation, const std::string& name) {
  Attributes attrs{{"epsilon", epsilon}};
  if (!activation.empty()) attrs.set("activation", activation);
  std::vector<Value*> inputs{x, scale, shift};
  if (residual != nullptr) inputs.push_back(residual);
  const Node* node = x->graph().add(op::kBatchNorm, std::move(inputs), std::move(attrs), name);
  return {node->output(0), node->output(1), node->output(2)};
}

Value* batch_norm_inference(Value* x, Value* scale, Value* shift, Value* mean, Value* variance, double epsilon,
                            const std::string& name) {
  return x->graph()
      .add(op::kBatchNormInference, {x, scale, shift, mean, variance}, {{"epsilon", epsilon}}, name)
      ->output();
}

}  // namespace ops
}  // namespace thalweg
