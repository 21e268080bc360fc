// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The circular and hyperbolic functions that networks seldom use; sin, cos and tanh are with the activations.
#include "graph/op_registry.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_floating(const InferContext& context) {
  context.require_floating(0);
  return {context.type(0)};
}

Value* one_plus_square(Value* x) { return ops::add(ops::square(x), 1.0); }

/// A gradient rule out of the derivative as a function of input and output.
template <typename Derivative>
GradientRule times(Derivative derivative) {
  return [derivative](GradientContext& context) {
    context.set(0, ops::mul(context.output_gradient(), derivative(context.input(0), context.output())));
  };
}

const RegisterOp kTan({"tan", 1, 1, infer_floating, times([](Value*, Value* y) { return one_plus_square(y); })});
const RegisterOp kAsin({"asin", 1, 1, infer_floating,
                        times([](Value* x, Value*) { return ops::rsqrt(ops::rsub(1.0, ops::square(x))); })});
const RegisterOp kAcos({"acos", 1, 1, infer_floating,
                        times([](Value* x, Value*) { return ops::neg(ops::rsqrt(ops::rsub(1.0, ops::square(x)))); })});
const RegisterOp kAtan({"atan", 1, 1, infer_floating,
                        times([](Value* x, Value*) { return ops::reciprocal(one_plus_square(x)); })});
const RegisterOp kSinh({"sinh", 1, 1, infer_floating, times([](Value* x, Value*) { return ops::cosh(x); })});
const RegisterOp kCosh({"cosh", 1, 1, infer_floating, times([](Value* x, Value*) { return ops::sinh(x); })});
const RegisterOp kAsinh({"asinh", 1, 1, infer_floating,
                         times([](Value* x, Value*) { return ops::rsqrt(one_plus_square(x)); })});
const RegisterOp kAcosh({"acosh", 1, 1, infer_floating,
                         times([](Value* x, Value*) { return ops::rsqrt(ops::sub(ops::square(x), 1.0)); })});
const RegisterOp kAtanh({"atanh", 1, 1, infer_floating,
                         times([](Value* x, Value*) { return ops::reciprocal(ops::rsub(1.0, ops::square(x))); })});

Value* unary(const char* op, Value* x) { return x->graph().add(op, {x})->output(); }

}  // namespace

namespace ops {

Value* tan(Value* x) { return unary("tan", x); }
Value* asin(Value* x) { return unary("asin", x); }
Value* acos(Value* x) { return unary("acos", x); }
Value* atan(Value* x) { return unary("atan", x); }
Value* sinh(Value* x) { return unary("sinh", x); }
Value* cosh(Value* x) { return unary("cosh", x); }
Value* asinh(Value* x) { return unary("asinh", x); }
Value* acosh(Value* x) { return unary("acosh", x); }
Value* atanh(Value* x) { return unary("atanh", x); }

}  // namespace ops
}  // namespace thalweg
