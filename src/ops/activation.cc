// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/activation.h"

#include "ops/ids.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

Value* unary(OpId op, Value* x, Attributes attrs = {}, const std::string& name = "") {
  return x->graph().add(op, {x}, std::move(attrs), name)->output();
}

}  // namespace

namespace ops {

Value* relu(Value* x, const std::string& name) { return unary(op::kRelu, x, {}, name); }
Value* leaky_relu(Value* x, double slope) { return unary(op::kLeakyRelu, x, {{"negative_slope", slope}}); }
Value* elu(Value* x, double alpha) { return unary(op::kElu, x, {{"alpha", alpha}}); }
Value* selu(Value* x) { return unary(op::kSelu, x); }
Value* celu(Value* x, double alpha) { return unary(op::kCelu, x, {{"alpha", alpha}}); }
Value* gelu(Value* x, bool approximate) { return unary(approximate ? op::kGeluTanh : op::kGelu, x); }
Value* silu(Value* x) { return unary(op::kSilu, x); }
Value* mish(Value* x) { return unary(op::kMish, x); }
Value* sigmoid(Value* x) { return unary(op::kSigmoid, x); }
Value* log_sigmoid(Value* x) { return unary(op::kLogSigmoid, x); }
Value* hard_sigmoid(Value* x) { return unary(op::kHardSigmoid, x); }
Value* hard_swish(Value* x) { return unary(op::kHardSwish, x); }
Value* tanh(Value* x) { return unary(op::kTanh, x); }
Value* softplus(Value* x, double beta) { return unary(op::kSoftplus, x, {{"beta", beta}}); }
Value* softsign(Value* x) { return unary(op::kSoftsign, x); }
Value* hard_shrink(Value* x, double lambda) { return unary(op::kHardShrink, x, {{"lambd", lambda}}); }
Value* soft_shrink(Value* x, double lambda) { return unary(op::kSoftShrink, x, {{"lambd", lambda}}); }
Value* tanh_shrink(Value* x) { return unary(op::kTanhShrink, x); }
Value* threshold(Value* x, double threshold, double value) {
  return unary(op::kThreshold, x, {{"threshold", threshold}, {"value", value}});
}
Value* clip(Value* x, double low, double high) { return unary(op::kClip, x, {{"low", low}, {"high", high}}); }

Value* prelu(Value* x, Value* slope) {
  // The slopes are lined up with dimension 1.
  if (slope->shape().rank() == 1 && slope->shape()[0] != 1) {
    std::vector<int64_t> shape(static_cast<size_t>(x->shape().rank() - 1), 1);
    shape[0] = -1;
    slope = reshape(slope, shape);
  }
  return x->graph().add(op::kPrelu, {x, slope})->output();
}

Value* exp(Value* x) { return unary(op::kExp, x); }
Value* log(Value* x) { return unary(op::kLog, x); }
Value* sqrt(Value* x) { return unary(op::kSqrt, x); }
Value* rsqrt(Value* x) { return unary(op::kRsqrt, x); }
Value* square(Value* x) { return unary(op::kSquare, x); }
Value* reciprocal(Value* x) { return unary(op::kReciprocal, x); }
Value* abs(Value* x) { return unary(op::kAbs, x); }
Value* neg(Value* x) { return unary(op::kNeg, x); }
Value* sign(Value* x) { return unary(op::kSign, x); }
Value* floor(Value* x) { return unary(op::kFloor, x); }
Value* ceil(Value* x) { return unary(op::kCeil, x); }
Value* round(Value* x) { return unary(op::kRound, x); }
Value* erf(Value* x) { return unary(op::kErf, x); }
Value* sin(Value* x) { return unary(op::kSin, x); }
Value* cos(Value* x) { return unary(op::kCos, x); }
Value* tan(Value* x) { return unary(op::kTan, x); }
Value* asin(Value* x) { return unary(op::kAsin, x); }
Value* acos(Value* x) { return unary(op::kAcos, x); }
Value* atan(Value* x) { return unary(op::kAtan, x); }
Value* sinh(Value* x) { return unary(op::kSinh, x); }
Value* cosh(Value* x) { return unary(op::kCosh, x); }
Value* asinh(Value* x) { return unary(op::kAsinh, x); }
Value* acosh(Value* x) { return unary(op::kAcosh, x); }
Value* atanh(Value* x) { return unary(op::kAtanh, x); }

}  // namespace ops
}  // namespace thalweg
