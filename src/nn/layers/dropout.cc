// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/dropout.h"

#include <cmath>

#include "ops/ids.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/norm.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {
namespace {

void check_probability(const Scope& scope, const char* layer, double p) {
  scope.require(p >= 0.0 && p <= 1.0, layer, "probability ", p, " is not in [0, 1]");
}

/// Ones of the shape of x, with 1 in place of every dimension after the first two if `per_channel`.
Value* ones_like(Value* x, bool per_channel) {
  if (per_channel) {
    std::vector<int64_t> starts, ends, axes;
    for (int i = 2; i < x->shape().rank(); ++i) {
      starts.push_back(0);
      ends.push_back(1);
      axes.push_back(i);
    }
    if (!axes.empty()) x = ops::slice(x, starts, ends, axes);
  }
  std::vector<int64_t> single(static_cast<size_t>(x->shape().rank()), 1);
  Value* one = x->graph().constant(Tensor::full<float>(Shape(single), 1.0F).to(x->dtype()));
  return x->graph().add(op::kExpandLike, {one, x})->output();
}

}  // namespace

Value* Dropout::forward(const Scope& scope, Value* x) const {
  check_probability(scope, "Dropout", p_);
  return p_ == 0.0 ? x : ops::dropout(x, p_, scope.random_seed(), scope.path());
}

Value* SpatialDropout::forward(const Scope& scope, Value* x) const {
  check_probability(scope, "SpatialDropout", p_);
  scope.require(x->shape().rank() >= 3, "SpatialDropout", "takes [N, C, ...], got ", x->shape());
  if (p_ == 0.0) return x;
  return ops::mul(x, ops::dropout(ones_like(x, true), p_, scope.random_seed(), scope.path()));
}

Value* AlphaDropout::forward(const Scope& scope, Value* x) const {
  check_probability(scope, "AlphaDropout", p_);
  if (p_ == 0.0) return x;
  constexpr double kSaturation = -1.7580993408473766;  // what SELU tends to on the left
  const double keep = 1.0 - p_;
  const double a = 1.0 / std::sqrt(keep + kSaturation * kSaturation * keep * p_);
  // With m in {0, 1/keep}: keeps x or puts the saturation value, then restores mean 0 and variance 1. Where dropout is
  // removed (m = 1) nothing of this may remain: a and b are therefore written as functions of 1 - m.
  Value* m = ops::dropout(ones_like(x, false), p_, scope.random_seed(), scope.path());
  Value* dropped = ops::less_equal(m, ops::scalar_like(m, 0.5));
  Value* kept = ops::greater(m, ops::scalar_like(m, 1.0));
  const double b = -a * p_ * kSaturation;
  Value* scaled = ops::add(ops::mul(x, a), b);
  Value* active = ops::where(kept, scaled, x);
  return ops::where(dropped, ops::scalar_like(x, a * kSaturation + b), active);
}

Value* GaussianNoise::forward(const Scope& scope, Value* x) const {
  scope.require(deviation_ >= 0.0, "GaussianNoise", "standard deviation ", deviation_, " is negative");
  return deviation_ == 0.0 ? x : ops::gaussian_noise(x, deviation_, scope.random_seed(), scope.path());
}

Value* GaussianDropout::forward(const Scope& scope, Value* x) const {
  scope.require(p_ >= 0.0 && p_ < 1.0, "GaussianDropout", "probability ", p_, " is not in [0, 1)");
  if (p_ == 0.0) return x;
  const double deviation = std::sqrt(p_ / (1.0 - p_));
  return ops::mul(x, ops::gaussian_noise(ones_like(x, false), deviation, scope.random_seed(), scope.path()));
}

}  // namespace thalweg::nn
