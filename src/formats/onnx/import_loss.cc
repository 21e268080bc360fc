// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Losses, which models in training form end in.
#include "formats/onnx/import_common.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// -weight * log-probability of each target; rows whose target is ignored count nothing.
Value* negative_log_likelihood(const NodeContext& context, Value* log_probability) {
  Value* target = ops::cast(context.input(1), DType::kI64);
  Value* weight = context.optional(2);
  const DType dtype = log_probability->dtype();
  Value* counted = nullptr;
  if (context.has_attribute("ignore_index")) {
    Value* ignored = ops::scalar_like(target, static_cast<double>(context.integer("ignore_index", 0)));
    counted = ops::logical_not(ops::equal(target, ignored));
    target = ops::where(counted, target, zero_like(target));
  }
  Value* loss = ops::neg(ops::squeeze(ops::gather_elements(log_probability, ops::unsqueeze(target, {1}), 1), {1}));
  Value* weights = nullptr;
  if (weight != nullptr) weights = ops::gather(weight, target, 0);
  if (counted != nullptr) {
    Value* ones = ops::cast(counted, dtype);
    weights = weights != nullptr ? ops::mul(weights, ones) : ones;
  }
  if (weights != nullptr) loss = ops::mul(loss, weights);
  const std::string reduction = context.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return ops::reduce_sum(loss);
  context.require(reduction == "mean", "unknown reduction '", reduction, "'");
  return weights != nullptr ? ops::div(ops::reduce_sum(loss), ops::reduce_sum(weights)) : ops::reduce_mean(loss);
}

Value* nll_loss(const NodeContext& context) { return negative_log_likelihood(context, context.input(0)); }

std::vector<Value*> softmax_cross_entropy(const NodeContext& context) {
  Value* log_probability = ops::log_softmax(context.input(0), 1, context.name());
  return {negative_log_likelihood(context, log_probability), log_probability};
}

const RegisterConverters kConverters({
    {"NegativeLogLikelihoodLoss", single(nll_loss)},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
});

}  // namespace
}  // namespace thalweg::onnx
