// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Steps of optimisers, as files of the domain ai.onnx.preview.training have them: of several tensors at once, whose
// values come first, then all gradients, then each kind of state.
#include <cmath>

#include "formats/onnx/import_common.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// The rate, how many steps there were, and the operands of each tensor.
struct Step {
  Value *rate, *count;
  size_t tensors;
};

Step step_of(const NodeContext& context, size_t kinds) {
  const size_t operands = context.num_inputs() - std::min<size_t>(context.num_inputs(), 2);
  context.require(operands > 0 && operands % kinds == 0, "there are ", operands, " tensors, which are not ", kinds,
                  " of each kind");
  return {context.input(0), context.input(1), operands / kinds};
}

/// With what a penalty of the squares adds to the gradient.
Value* regularized(const NodeContext& context, Value* x, Value* gradient) {
  const double norm = context.real("norm_coefficient", 0.0);
  return norm == 0 ? gradient : ops::add(gradient, ops::mul(x, norm));
}

Value* blend(Value* old, Value* fresh, double keep) {
  return ops::add(ops::mul(old, keep), ops::mul(fresh, 1.0 - keep));
}

std::vector<Value*> adagrad(const NodeContext& context) {
  const Step step = step_of(context, 3);
  std::vector<Value*> values, sums;
  for (size_t i = 0; i < step.tensors; ++i) {
    const auto operand = [&](size_t kind) { return context.input(2 + kind * step.tensors + i); };
    Value* x = operand(0);
    Value* count = ops::cast(step.count, x->dtype());
    Value* rate = ops::div(step.rate, ops::add(ops::mul(count, context.real("decay_factor", 0.0)), 1.0));
    Value* gradient = regularized(context, x, operand(1));
    sums.push_back(ops::add(operand(2), ops::square(gradient)));
    Value* width = ops::add(ops::sqrt(sums.back()), context.real("epsilon", 1e-6F));
    values.push_back(ops::sub(x, ops::div(ops::mul(rate, gradient), width)));
  }
  values.insert(values.end(), sums.begin(), sums.end());
  return values;
}

std::vector<Value*> adam(const NodeContext& context) {
  const Step step = step_of(context, 4);
  const double alpha = context.real("alpha", 0.9F), beta = context.real("beta", 0.999F);
  const double after = context.real("norm_coefficient_post", 0.0);
  std::vector<Value*> values, means, squares;
  for (size_t i = 0; i < step.tensors; ++i) {
    const auto operand = [&](size_t kind) { return context.input(2 + kind * step.tensors + i); };
    Value* x = operand(0);
    Value* gradient = regularized(context, x, operand(1));
    means.push_back(blend(operand(2), gradient, alpha));
    squares.push_back(blend(operand(3), ops::square(gradient), beta));
    // The first steps count for more; before the first there is nothing to correct.
    Value* count = ops::cast(step.count, x->dtype());
    const auto left = [&](double rate) { return ops::rsub(1.0, ops::pow(ops::scalar_like(x, rate), count)); };
    Value* corrected = ops::div(ops::mul(step.rate, ops::sqrt(left(beta))), left(alpha));
    Value* rate = ops::where(ops::greater(count, zero_like(count)), corrected, step.rate);
    Value* width = ops::add(ops::sqrt(squares.back()), context.real("epsilon", 1e-6F));
    Value* next = ops::sub(x, ops::div(ops::mul(rate, means.back()), width));
    values.push_back(after == 0 ? next : ops::mul(next, 1.0 - after));
  }
  values.insert(values.end(), means.begin(), means.end());
  values.insert(values.end(), squares.begin(), squares.end());
  return values;
}

std::vector<Value*> momentum(const NodeContext& context) {
  const Step step = step_of(context, 3);
  const std::string mode = context.text("mode", "");
  context.require(mode == "standard" || mode == "nesterov", "unknown mode '", mode, "'");
  const double alpha = context.real("alpha", 0.0), beta = context.real("beta", 1.0);
  std::vector<Value*> values, moments;
  for (size_t i = 0; i < step.tensors; ++i) {
    const auto operand = [&](size_t kind) { return context.input(2 + kind * step.tensors + i); };
    Value* x = operand(0);
    Value* gradient = regularized(context, x, operand(1));
    // The first step takes the whole gradient.
    Value* begun = ops::greater(step.count, zero_like(step.count));
    Value* part = ops::where(begun, ops::scalar_like(x, beta), ops::scalar_like(x, 1.0));
    moments.push_back(ops::add(ops::mul(operand(2), alpha), ops::mul(gradient, part)));
    Value* way = mode == "standard" ? moments.back() : ops::add(gradient, ops::mul(moments.back(), alpha));
    values.push_back(ops::sub(x, ops::mul(step.rate, way)));
  }
  values.insert(values.end(), moments.begin(), moments.end());
  return values;
}

const RegisterConverters kConverters({{"Adagrad", adagrad}, {"Adam", adam}, {"Momentum", momentum}},
                                     "ai.onnx.preview.training");

}  // namespace
}  // namespace thalweg::onnx
