// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "thalweg/ops/norm.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_dropout(const InferContext& context) {
  context.require_floating(0);
  const double probability = context.attrs().real("probability");
  context.require(probability >= 0 && probability < 1, "probability must be in [0, 1), got ", probability);
  return {context.type(0)};
}

/// The mask is a function of seed, step and position: backward draws it again rather than keeping it.
void dropout_gradient(GradientContext& context) {
  context.set(0, context.graph().add("dropout_grad", {context.output_gradient()}, context.attrs())->output());
}

std::vector<TensorType> infer_gaussian_noise(const InferContext& context) {
  context.require_floating(0);
  const double deviation = context.attrs().real("deviation");
  context.require(deviation >= 0 && deviation <= 1e30, "the standard deviation must not be negative, got ", deviation);
  return {context.type(0)};
}

void gaussian_noise_gradient(GradientContext& context) { context.set(0, context.output_gradient()); }

const RegisterOp kGaussianNoise({"gaussian_noise", 1, 1, infer_gaussian_noise, gaussian_noise_gradient, false, true});
const RegisterOp kDropout({"dropout", 1, 1, infer_dropout, dropout_gradient, false, true});
const RegisterOp kDropoutGrad({"dropout_grad", 1, 1, infer_dropout, nullptr, false, true});

}  // namespace

namespace ops {

Value* dropout(Value* x, double probability, int64_t seed, const std::string& name) {
  return x->graph().add("dropout", {x}, {{"probability", probability}, {"seed", seed}}, name)->output();
}

Value* gaussian_noise(Value* x, double deviation, int64_t seed, const std::string& name) {
  return x->graph().add("gaussian_noise", {x}, {{"deviation", deviation}, {"seed", seed}}, name)->output();
}

}  // namespace ops
}  // namespace thalweg
