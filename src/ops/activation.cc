// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/activation.h"

#include "graph/op_registry.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

/// What the derivative is computed from: the less of the two must be kept alive for backward the better.
enum class Saved { kInput, kOutput, kNothing };

struct UnaryFunction {
  const char* name;
  Saved saved;
};

constexpr UnaryFunction kFunctions[] = {
    {"relu", Saved::kOutput},       {"leaky_relu", Saved::kInput},  {"elu", Saved::kInput},
    {"selu", Saved::kInput},        {"celu", Saved::kInput},        {"gelu", Saved::kInput},
    {"gelu_tanh", Saved::kInput},   {"silu", Saved::kInput},        {"mish", Saved::kInput},
    {"sigmoid", Saved::kOutput},    {"log_sigmoid", Saved::kInput}, {"hard_sigmoid", Saved::kInput},
    {"hard_swish", Saved::kInput},  {"tanh", Saved::kOutput},       {"softplus", Saved::kInput},
    {"softsign", Saved::kInput},    {"hard_shrink", Saved::kInput}, {"soft_shrink", Saved::kInput},
    {"tanh_shrink", Saved::kInput}, {"threshold", Saved::kInput},   {"clip", Saved::kInput},
    {"exp", Saved::kOutput},        {"log", Saved::kInput},         {"sqrt", Saved::kOutput},
    {"rsqrt", Saved::kOutput},      {"square", Saved::kInput},      {"reciprocal", Saved::kOutput},
    {"abs", Saved::kInput},         {"erf", Saved::kInput},         {"sin", Saved::kInput},
    {"cos", Saved::kInput},         {"sign", Saved::kNothing},      {"floor", Saved::kNothing},
    {"ceil", Saved::kNothing},      {"round", Saved::kNothing},
};

/// unary_grad(dy, saved) = dy times the derivative of attribute "function"; `saved` is that function's input or output.
std::vector<TensorType> infer_unary_grad(const InferContext& context) {
  context.require(context.type(0) == context.type(1), "gradient and saved value must have the same type");
  return {context.type(0)};
}

GradientRule unary_gradient(Saved saved) {
  return [saved](GradientContext& context) {
    Attributes attrs = context.attrs();
    attrs.set("function", context.node().op_name());
    Value* kept = saved == Saved::kOutput ? context.output() : context.input(0);
    context.set(0, context.graph().add("unary_grad", {context.output_gradient(), kept}, attrs)->output());
  };
}

/// Registers one op per function of the table.
struct RegisterUnaryOps {
  RegisterUnaryOps() {
    for (const UnaryFunction& function : kFunctions) {
      const bool flat = function.saved == Saved::kNothing;
      RegisterOp({function.name, 1, 1, same_as_input(), flat ? nullptr : unary_gradient(function.saved), flat});
    }
    RegisterOp({"neg", 1, 1, same_as_input(),
                [](GradientContext& context) { context.set(0, ops::neg(context.output_gradient())); }});
    RegisterOp({"unary_grad", 2, 2, infer_unary_grad, nullptr});
  }
};
const RegisterUnaryOps kUnaryOps;

Value* unary(const char* op, Value* x, Attributes attrs = {}, const std::string& name = "") {
  return x->graph().add(op, {x}, std::move(attrs), name)->output();
}

}  // namespace

namespace ops {

Value* relu(Value* x, const std::string& name) { return unary("relu", x, {}, name); }
Value* leaky_relu(Value* x, double slope) { return unary("leaky_relu", x, {{"alpha", slope}}); }
Value* elu(Value* x, double alpha) { return unary("elu", x, {{"alpha", alpha}}); }
Value* selu(Value* x) { return unary("selu", x); }
Value* celu(Value* x, double alpha) { return unary("celu", x, {{"alpha", alpha}}); }
Value* gelu(Value* x, bool approximate) { return unary(approximate ? "gelu_tanh" : "gelu", x); }
Value* silu(Value* x) { return unary("silu", x); }
Value* mish(Value* x) { return unary("mish", x); }
Value* sigmoid(Value* x) { return unary("sigmoid", x); }
Value* log_sigmoid(Value* x) { return unary("log_sigmoid", x); }
Value* hard_sigmoid(Value* x) { return unary("hard_sigmoid", x, {{"alpha", 1.0 / 6.0}, {"beta", 0.5}}); }
Value* hard_swish(Value* x) { return unary("hard_swish", x); }
Value* tanh(Value* x) { return unary("tanh", x); }
Value* softplus(Value* x, double beta) { return unary("softplus", x, {{"beta", beta}}); }
Value* softsign(Value* x) { return unary("softsign", x); }
Value* hard_shrink(Value* x, double lambda) { return unary("hard_shrink", x, {{"alpha", lambda}}); }
Value* soft_shrink(Value* x, double lambda) { return unary("soft_shrink", x, {{"alpha", lambda}}); }
Value* tanh_shrink(Value* x) { return unary("tanh_shrink", x); }
Value* threshold(Value* x, double threshold, double value) {
  return unary("threshold", x, {{"alpha", threshold}, {"beta", value}});
}
Value* clip(Value* x, double low, double high) { return unary("clip", x, {{"alpha", low}, {"beta", high}}); }

Value* prelu(Value* x, Value* slope) {
  // max(x, 0) + slope * min(x, 0), with the slopes lined up with dimension 1.
  if (slope->shape().rank() == 1 && slope->shape()[0] != 1) {
    std::vector<int64_t> shape(static_cast<size_t>(x->shape().rank() - 1), 1);
    shape[0] = -1;
    slope = reshape(slope, shape);
  }
  return add(relu(x), mul(slope, neg(relu(neg(x)))));
}

Value* exp(Value* x) { return unary("exp", x); }
Value* log(Value* x) { return unary("log", x); }
Value* sqrt(Value* x) { return unary("sqrt", x); }
Value* rsqrt(Value* x) { return unary("rsqrt", x); }
Value* square(Value* x) { return unary("square", x); }
Value* reciprocal(Value* x) { return unary("reciprocal", x); }
Value* abs(Value* x) { return unary("abs", x); }
Value* neg(Value* x) { return unary("neg", x); }
Value* sign(Value* x) { return unary("sign", x); }
Value* floor(Value* x) { return unary("floor", x); }
Value* ceil(Value* x) { return unary("ceil", x); }
Value* round(Value* x) { return unary("round", x); }
Value* erf(Value* x) { return unary("erf", x); }
Value* sin(Value* x) { return unary("sin", x); }
Value* cos(Value* x) { return unary("cos", x); }

}  // namespace ops
}  // namespace thalweg
