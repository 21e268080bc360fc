// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Losses against real targets.
#include <cmath>

#include "nn/losses/reduce.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"

namespace thalweg::losses {

Value* mse(Value* prediction, Value* target, Reduction reduction) {
  require_same_shape("mse", prediction, target);
  return reduce(ops::square(ops::sub(prediction, target)), reduction);
}

Value* l1(Value* prediction, Value* target, Reduction reduction) {
  require_same_shape("l1", prediction, target);
  return reduce(ops::abs(ops::sub(prediction, target)), reduction);
}

Value* huber(Value* prediction, Value* target, double delta, Reduction reduction) {
  require_same_shape("huber", prediction, target);
  TW_REQUIRE(delta > 0.0, "huber: delta is ", delta, ", it must be positive");
  // With c the difference cut at delta: c * (|d| - c / 2) is the parabola inside and the line outside.
  Value* difference = ops::abs(ops::sub(prediction, target));
  Value* inner = ops::minimum(difference, ops::scalar_like(difference, delta));
  return reduce(ops::mul(inner, ops::sub(difference, ops::mul(inner, 0.5))), reduction);
}

Value* smooth_l1(Value* prediction, Value* target, double beta, Reduction reduction) {
  TW_REQUIRE(beta >= 0.0, "smooth_l1: beta is ", beta, ", it must not be negative");
  if (beta == 0.0) return l1(prediction, target, reduction);
  return ops::mul(huber(prediction, target, beta, reduction), 1.0 / beta);
}

Value* mape(Value* prediction, Value* target, Reduction reduction) {
  require_same_shape("mape", prediction, target);
  Value* size = ops::abs(target);
  Value* safe = ops::maximum(size, ops::scalar_like(size, 1e-7));
  return reduce(ops::mul(ops::div(ops::abs(ops::sub(target, prediction)), safe), 100.0), reduction);
}

Value* msle(Value* prediction, Value* target, Reduction reduction) {
  require_same_shape("msle", prediction, target);
  const auto log_of = [](Value* x) { return ops::log(ops::add(ops::maximum(x, ops::scalar_like(x, 1e-7)), 1.0)); };
  return reduce(ops::square(ops::sub(log_of(target), log_of(prediction))), reduction);
}

Value* log_cosh(Value* prediction, Value* target, Reduction reduction) {
  require_same_shape("log_cosh", prediction, target);
  // log(cosh(d)) = d + softplus(-2 d) - log(2), which does not overflow.
  Value* difference = ops::sub(prediction, target);
  Value* tail = ops::softplus(ops::mul(difference, -2.0));
  return reduce(ops::sub(ops::add(difference, tail), std::log(2.0)), reduction);
}

}  // namespace thalweg::losses
