// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// Elementwise functions of one value.
namespace thalweg::ops {

Value* relu(Value* x, const std::string& name = "");
Value* leaky_relu(Value* x, double slope = 0.01);
Value* elu(Value* x, double alpha = 1.0);
Value* selu(Value* x);
Value* celu(Value* x, double alpha = 1.0);
/// `approximate`: the tanh form.
Value* gelu(Value* x, bool approximate = false);
Value* silu(Value* x);
Value* mish(Value* x);
Value* sigmoid(Value* x);
Value* log_sigmoid(Value* x);
Value* hard_sigmoid(Value* x);
Value* hard_swish(Value* x);
Value* tanh(Value* x);
Value* softplus(Value* x, double beta = 1.0);
Value* softsign(Value* x);
Value* hard_shrink(Value* x, double lambda = 0.5);
Value* soft_shrink(Value* x, double lambda = 0.5);
Value* tanh_shrink(Value* x);
Value* threshold(Value* x, double threshold, double value);
/// min(max(x, low), high); relu6 is clip(x, 0, 6), hard tanh clip(x, -1, 1).
Value* clip(Value* x, double low, double high);
/// `slope` has one element or one per channel (dimension 1).
Value* prelu(Value* x, Value* slope);

Value* exp(Value* x);
Value* log(Value* x);
Value* sqrt(Value* x);
Value* rsqrt(Value* x);
Value* square(Value* x);
Value* reciprocal(Value* x);
Value* abs(Value* x);
Value* neg(Value* x);
Value* sign(Value* x);
Value* floor(Value* x);
Value* ceil(Value* x);
/// Half to even.
Value* round(Value* x);
Value* erf(Value* x);
Value* sin(Value* x);
Value* cos(Value* x);
Value* tan(Value* x);
Value* asin(Value* x);
Value* acos(Value* x);
Value* atan(Value* x);
Value* sinh(Value* x);
Value* cosh(Value* x);
Value* asinh(Value* x);
Value* acosh(Value* x);
Value* atanh(Value* x);

}  // namespace thalweg::ops
