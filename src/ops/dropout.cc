// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/norm.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_dropout(const InferContext& context) {
  context.require_floating(0);
  const double probability = context.attrs().real("probability");
  context.require(probability < 1, "probability must be in [0, 1), got ", probability);
  return {context.type(0)};
}

/// The mask is a function of seed, step and position: backward draws it again rather than keeping it.
void dropout_gradient(GradientContext& context) {
  context.set(0, context.graph().add(op::kDropoutGrad, {context.output_gradient()}, context.attrs())->output());
}

std::vector<TensorType> infer_gaussian_noise(const InferContext& context) {
  context.require_floating(0);
  return {context.type(0)};
}

void gaussian_noise_gradient(GradientContext& context) { context.set(0, context.output_gradient()); }

const AttributeDef kSeed = attr::integer("seed", 0, "what the random numbers of a step follow from");
const std::vector<AttributeDef> kDropoutAttributes{
    attr::real("probability", 0.0, "of an element to be zeroed; less than 1").between(0.0, 1.0), kSeed};

const RegisterOp kGaussianNoise(op::kGaussianNoise, 1, "Adds normal noise of a standard deviation; in training only.",
                                infer_gaussian_noise, gaussian_noise_gradient,
                                {attr::real("deviation", 0.0, "the standard deviation").between(0.0, 1e30), kSeed},
                                {.impure = true, .traits = Trait::kTrainingOnly});
const RegisterOp kDropout(op::kDropout, 1,
                          "Zeroes elements with a probability, and scales the others up; in training only.",
                          infer_dropout, dropout_gradient, kDropoutAttributes,
                          {.impure = true, .traits = Trait::kFollowsBf16 | Trait::kTrainingOnly});
const RegisterOp kDropoutGrad(op::kDropoutGrad, 1, "", infer_dropout, nullptr, kDropoutAttributes, {.impure = true});

}  // namespace

namespace ops {

Value* dropout(Value* x, double probability, int64_t seed, const std::string& name) {
  return x->graph().add(op::kDropout, {x}, {{"probability", probability}, {"seed", seed}}, name)->output();
}

Value* gaussian_noise(Value* x, double deviation, int64_t seed, const std::string& name) {
  return x->graph().add(op::kGaussianNoise, {x}, {{"deviation", deviation}, {"seed", seed}}, name)->output();
}

}  // namespace ops
}  // namespace thalweg
