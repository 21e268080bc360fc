// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Elementwise ops of one value: each is a row of the table below, from which its shape rule, gradient, plain kernel,
// ONNX and PyTorch forms, Python function and layer follow.
#include "ops/unary.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// What the derivative is computed from: the less of the two must be kept alive for backward the better.
enum class Saved {
  kInput,
  kOutput,
  kNothing,  ///< it is zero wherever it exists
  kItself    ///< the function is linear: the gradient is the function of the gradient
};

struct Row {
  OpId id;
  const char* doc;
  UnaryScalar value;
  Saved saved;
  UnaryScalar derivative;
  Traits traits = {};
  std::vector<OnnxName> onnx = {};
  /// PyTorch's operators, then its module.
  std::vector<std::string> torch = {};
  const char* layer = "";
  std::vector<AttributeDef> attributes = {};
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kGeluCubic = 0.044715;
const double kRootTwoOverPi = std::sqrt(2 / std::numbers::pi);

double sq(double x) { return x * x; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double step(bool condition) { return condition ? 1.0 : 0.0; }
double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_cdf(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_inner(double x) { return kRootTwoOverPi * (x + kGeluCubic * x * x * x); }
double gelu_tanh_derivative(double x) {
  const double t = std::tanh(gelu_inner(x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * kGeluCubic * x * x);
}
double mish_derivative(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}
double hard_swish_derivative(double x) { return x <= -3 ? 0.0 : x >= 3 ? 1.0 : x / 3 + 0.5; }

constexpr Trait kZero = Trait::kKeepsZero, kNet = Trait::kActivation, kNarrow = Trait::kFollowsBf16,
                kReal = Trait::kFloatingOnly;

/// A function of x (or of y, the output, for some derivatives) with the arguments a and b.
#define TW_OF(v, ...) \
  [](double v, [[maybe_unused]] double a, [[maybe_unused]] double b) -> double { return __VA_ARGS__; }

std::vector<Row> rows() {
  constexpr Saved kX = Saved::kInput, kY = Saved::kOutput;
  const auto alpha = [](double usual) { return attr::real("alpha", usual, "the factor of what is below 0"); };
  const auto lambda = attr::real("lambd", 0.5, "how far from 0 nothing is left").at_least(0.0);
  // clang-format off
  return {
    // Made for networks.
    {op::kRelu, "max(0, x).", TW_OF(x, x > 0 || x != x ? x : 0), kY, TW_OF(y, step(y > 0)), kZero | kNet | kNarrow,
     {{"Relu"}}, {"relu.default"}, "ReLU"},
    {op::kLeakyRelu, "x where positive, negative_slope * x elsewhere.", TW_OF(x, x > 0 ? x : a * x), kX,
     TW_OF(x, x > 0 ? 1.0 : a), kZero | kNet | kNarrow, {{"LeakyRelu"}}, {"leaky_relu.default"}, "LeakyReLU",
     {attr::real("negative_slope", 0.01, "the factor of what is below 0").in_onnx("alpha")}},
    {op::kElu, "x where positive, alpha * (exp(x) - 1) elsewhere.", TW_OF(x, x > 0 ? x : a * std::expm1(x)), kX,
     TW_OF(x, x > 0 ? 1.0 : a * std::exp(x)), kZero | kNet, {{"Elu"}}, {}, "ELU", {alpha(1.0)}},
    {op::kSelu, "Scaled ELU, which keeps mean and variance of activations.",
     TW_OF(x, kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x))), kX,
     TW_OF(x, kSeluScale * (x > 0 ? 1.0 : kSeluAlpha * std::exp(x))), kZero | kNet, {{"Selu"}}, {"selu.default"},
     "SELU"},
    {op::kCelu, "x where positive, alpha * (exp(x / alpha) - 1) elsewhere.",
     TW_OF(x, x > 0 ? x : a * std::expm1(x / a)), kX, TW_OF(x, x > 0 ? 1.0 : std::exp(x / a)), kZero | kNet,
     {{"Celu", 12}}, {"celu.default"}, "CELU", {alpha(1.0)}},
    {op::kGelu, "x times the normal distribution function of x.", TW_OF(x, x * normal_cdf(x)), kX,
     TW_OF(x, normal_cdf(x) + x * normal_density(x)), kZero | kNet | kNarrow, {{"Gelu", 20}}},
    {op::kGeluTanh, "gelu with a tanh in place of the normal distribution.",
     TW_OF(x, 0.5 * x * (1 + std::tanh(gelu_inner(x)))), kX, TW_OF(x, gelu_tanh_derivative(x)),
     kZero | kNet | kNarrow},
    {op::kSilu, "x * sigmoid(x), also called swish.", TW_OF(x, x * sigmoid(x)), kX,
     TW_OF(x, sigmoid(x) * (1 + x * (1 - sigmoid(x)))), kZero | kNet, {}, {"silu.default"}, "SiLU"},
    {op::kMish, "x * tanh(softplus(x)).", TW_OF(x, x * std::tanh(softplus(x))), kX, TW_OF(x, mish_derivative(x)),
     kZero | kNet, {{"Mish", 18}}, {"mish.default"}, "Mish"},
    {op::kSigmoid, "1 / (1 + exp(-x)).", TW_OF(x, sigmoid(x)), kY, TW_OF(y, y * (1 - y)), kNet, {{"Sigmoid"}},
     {"sigmoid.default"}, "Sigmoid"},
    {op::kLogSigmoid, "log(sigmoid(x)).", TW_OF(x, -softplus(-x)), kX, TW_OF(x, sigmoid(-x)), kNet, {},
     {"log_sigmoid.default"}, "LogSigmoid"},
    {op::kHardSigmoid, "A sigmoid of straight lines: alpha * x + beta, within 0 and 1.",
     TW_OF(x, clamp(a * x + b, 0, 1)), kX, TW_OF(x, a * step(a * x + b > 0 && a * x + b < 1)), kNet,
     {{"HardSigmoid"}}, {"hardsigmoid.default"}, "",
     {attr::real("alpha", 1.0 / 6.0, "the slope").in_onnx("alpha", 0.2), attr::real("beta", 0.5, "the value at 0")}},
    {op::kHardSwish, "x * hardsigmoid(x).", TW_OF(x, x * clamp(x + 3, 0, 6) / 6), kX,
     TW_OF(x, hard_swish_derivative(x)), kZero | kNet, {{"HardSwish", 14}}, {"hardswish.default"}, "Hardswish"},
    {op::kTanh, "The hyperbolic tangent.", TW_OF(x, std::tanh(x)), kY, TW_OF(y, 1 - y * y), kZero | kNet, {{"Tanh"}},
     {"tanh.default"}, "Tanh"},
    {op::kSoftplus, "log(1 + exp(beta * x)) / beta.", TW_OF(x, softplus(a * x) / a), kX, TW_OF(x, sigmoid(a * x)),
     kNet, {{"Softplus"}}, {}, "Softplus", {attr::real("beta", 1.0, "the larger, the nearer to relu").not_in_onnx()}},
    {op::kSoftsign, "x / (1 + |x|).", TW_OF(x, x / (1 + std::fabs(x))), kX, TW_OF(x, 1 / sq(1 + std::fabs(x))),
     kZero | kNet, {{"Softsign"}}, {}, "Softsign"},
    {op::kHardShrink, "x where |x| > lambd, 0 elsewhere.", TW_OF(x, std::fabs(x) > a ? x : 0.0), kX,
     TW_OF(x, step(std::fabs(x) > a)), kZero | kNet, {}, {"hardshrink.default"}, "Hardshrink", {lambda}},
    {op::kSoftShrink, "x nearer to 0 by lambd, and 0 where |x| < lambd.",
     TW_OF(x, x > a ? x - a : x < -a ? x + a : 0.0), kX, TW_OF(x, step(std::fabs(x) > a)), kZero | kNet, {},
     {"softshrink.default"}, "Softshrink", {lambda}},
    {op::kTanhShrink, "x - tanh(x).", TW_OF(x, x - std::tanh(x)), kX, TW_OF(x, sq(std::tanh(x))), kZero | kNet, {},
     {}, "Tanhshrink"},
    {op::kThreshold, "x where it is greater than threshold, value elsewhere.", TW_OF(x, x > a ? x : b), kX,
     TW_OF(x, step(x > a)), kNet, {{"ThresholdedRelu", 10}}, {"threshold.default"}, "Threshold",
     {attr::real("threshold", 1.0, "what x must exceed").in_onnx("alpha"),
      attr::real("value", 0.0, "what takes its place").not_in_onnx()}},
    {op::kClip, "min(max(x, low), high).", TW_OF(x, clamp(x, a, b)), kX, TW_OF(x, step(x > a && x < b)), kNarrow, {},
     {}, "", {attr::real("low", -kInfinity, "the least value"), attr::real("high", kInfinity, "the greatest value")}},
    // Elementary.
    {op::kExp, "The exponential.", TW_OF(x, std::exp(x)), kY, TW_OF(y, y), {}, {{"Exp"}}, {"exp.default"}},
    {op::kLog, "The natural logarithm.", TW_OF(x, std::log(x)), kX, TW_OF(x, 1 / x), {}, {{"Log"}}, {"log.default"}},
    {op::kExpm1, "exp(x) - 1, exact near 0.", TW_OF(x, std::expm1(x)), kY, TW_OF(y, y + 1), kZero | kReal, {},
     {"expm1.default"}},
    {op::kLog1p, "log(1 + x), exact near 0.", TW_OF(x, std::log1p(x)), kX, TW_OF(x, 1 / (1 + x)), kZero | kReal, {},
     {"log1p.default"}},
    {op::kSqrt, "The square root.", TW_OF(x, std::sqrt(x)), kY, TW_OF(y, 0.5 / y), kZero, {{"Sqrt"}},
     {"sqrt.default"}},
    {op::kRsqrt, "1 / sqrt(x).", TW_OF(x, 1 / std::sqrt(x)), kY, TW_OF(y, -0.5 * y * y * y), {}, {},
     {"rsqrt.default"}},
    {op::kSquare, "x * x.", TW_OF(x, x * x), kX, TW_OF(x, 2 * x), kZero, {}, {"square.default"}},
    {op::kReciprocal, "1 / x.", TW_OF(x, 1 / x), kY, TW_OF(y, -y * y), {}, {{"Reciprocal"}}, {"reciprocal.default"}},
    {op::kAbs, "|x|.", TW_OF(x, std::fabs(x)), kX, TW_OF(x, x == x ? sign(x) : 0.0), kZero, {{"Abs"}},
     {"abs.default"}},
    {op::kNeg, "-x.", TW_OF(x, -x), Saved::kItself, nullptr, kZero, {{"Neg"}}, {"neg.default"}},
    {op::kSign, "-1, 0 or 1.", TW_OF(x, sign(x)), Saved::kNothing, nullptr, kZero, {{"Sign", 9}}, {"sign.default"}},
    {op::kFloor, "The nearest integer that is not above x.", TW_OF(x, std::floor(x)), Saved::kNothing, nullptr, kZero,
     {{"Floor"}}, {"floor.default"}},
    {op::kCeil, "The nearest integer that is not below x.", TW_OF(x, std::ceil(x)), Saved::kNothing, nullptr, kZero,
     {{"Ceil"}}, {"ceil.default"}},
    {op::kRound, "The nearest integer, half to even.", TW_OF(x, std::nearbyint(x)), Saved::kNothing, nullptr, kZero,
     {{"Round", 11}}, {"round.default"}},
    {op::kErf, "The error function.", TW_OF(x, std::erf(x)), kX,
     TW_OF(x, 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x)), kZero, {{"Erf", 9}}, {"erf.default"}},
    {op::kSin, "The sine.", TW_OF(x, std::sin(x)), kX, TW_OF(x, std::cos(x)), kZero, {{"Sin", 7}}, {"sin.default"}},
    {op::kCos, "The cosine.", TW_OF(x, std::cos(x)), kX, TW_OF(x, -std::sin(x)), {}, {{"Cos", 7}}, {"cos.default"}},
    {op::kTan, "The tangent.", TW_OF(x, std::tan(x)), kY, TW_OF(y, 1 + y * y), kZero | kReal, {{"Tan", 7}},
     {"tan.default"}},
    {op::kAsin, "The inverse of sin.", TW_OF(x, std::asin(x)), kX, TW_OF(x, 1 / std::sqrt(1 - x * x)), kZero | kReal,
     {{"Asin", 7}}, {"asin.default"}},
    {op::kAcos, "The inverse of cos.", TW_OF(x, std::acos(x)), kX, TW_OF(x, -1 / std::sqrt(1 - x * x)), kReal,
     {{"Acos", 7}}, {"acos.default"}},
    {op::kAtan, "The inverse of tan.", TW_OF(x, std::atan(x)), kX, TW_OF(x, 1 / (1 + x * x)), kZero | kReal,
     {{"Atan", 7}}, {"atan.default"}},
    {op::kSinh, "The hyperbolic sine.", TW_OF(x, std::sinh(x)), kX, TW_OF(x, std::cosh(x)), kZero | kReal,
     {{"Sinh", 9}}, {"sinh.default"}},
    {op::kCosh, "The hyperbolic cosine.", TW_OF(x, std::cosh(x)), kX, TW_OF(x, std::sinh(x)), kReal, {{"Cosh", 9}},
     {"cosh.default"}},
    {op::kAsinh, "The inverse of sinh.", TW_OF(x, std::asinh(x)), kX, TW_OF(x, 1 / std::sqrt(x * x + 1)),
     kZero | kReal, {{"Asinh", 9}}, {"asinh.default"}},
    {op::kAcosh, "The inverse of cosh.", TW_OF(x, std::acosh(x)), kX, TW_OF(x, 1 / std::sqrt(x * x - 1)), kReal,
     {{"Acosh", 9}}, {"acosh.default"}},
    {op::kAtanh, "The inverse of tanh.", TW_OF(x, std::atanh(x)), kX, TW_OF(x, 1 / (1 - x * x)), kZero | kReal,
     {{"Atanh", 9}}, {"atanh.default"}},
  };
  // clang-format on
}

std::vector<TensorType> infer_unary(const InferContext& context) {
  if (find_op(context.op()).has(Trait::kFloatingOnly)) context.require_floating(0);
  return {context.type(0)};
}

/// unary_grad(dy, saved) = dy times the derivative of attribute "function"; `saved` is that function's input or output.
std::vector<TensorType> infer_unary_grad(const InferContext& context) {
  context.require(context.type(0) == context.type(1), "gradient and saved value must have the same type");
  const UnaryFunction* function = find_unary(context.attrs().text("function"));
  context.require(function != nullptr && function->derivative != nullptr, "'", context.attrs().text("function"),
                  "' is no function with a derivative");
  return {context.type(0)};
}

GradientRule gradient_of(Saved saved) {
  if (saved == Saved::kNothing) return nullptr;
  return [saved](GradientContext& context) {
    Value* dy = context.output_gradient();
    if (saved == Saved::kItself) return context.set(0, context.graph().add(context.node().op_name(), {dy})->output());
    const UnaryCallee callee = callee_of(context.node());
    Value* kept = saved == Saved::kOutput ? context.output() : context.input(0);
    const Attributes attrs{{"function", callee.function->name}, {"a", callee.a}, {"b", callee.b}};
    context.set(0, context.graph().add(op::kUnaryGrad, {dy, kept}, attrs)->output());
  };
}

void compute(const ReferenceCall& call) {
  const UnaryCallee callee = callee_of(call.node);
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    T* y = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      y[i] = static_cast<T>(callee.function->value(static_cast<double>(x[i]), callee.a, callee.b));
    }
  });
}

void differentiate(const ReferenceCall& call) {
  const UnaryCallee callee = callee_of(call.node);
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* dy = call.in(0).data<T>();
    const T* saved = call.in(1).data<T>();
    T* dx = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      dx[i] = static_cast<T>(dy[i] * callee.function->derivative(static_cast<double>(saved[i]), callee.a, callee.b));
    }
  });
}

struct RegisterAll {
  RegisterAll() {
    for (const Row& row : rows()) {
      RegisterOp(row.id, 1, row.doc, infer_unary, gradient_of(row.saved), row.attributes,
                 {.zero_gradient = row.saved == Saved::kNothing,
                  .reference = compute,
                  .traits = row.traits | Trait::kElementwise,
                  .onnx = row.onnx,
                  .torch = row.torch,
                  .layer = row.layer});
    }
  }
};
const RegisterAll kAll;
const RegisterOp kUnaryGrad(op::kUnaryGrad, 2, "", infer_unary_grad, nullptr,
                            {attr::text("function", "", "the op whose derivative it is").needed(),
                             attr::real("a", 0.0, "that op's first attribute"),
                             attr::real("b", 0.0, "that op's second attribute")},
                            {.reference = differentiate});

}  // namespace

const std::vector<UnaryFunction>& unary_functions() {
  static const std::vector<UnaryFunction> all = [] {
    std::vector<UnaryFunction> functions;
    for (const Row& row : rows()) functions.push_back({row.id, row.value, row.derivative});
    return functions;
  }();
  return all;
}

const UnaryFunction* find_unary(const std::string& op) {
  for (const UnaryFunction& function : unary_functions()) {
    if (function.name == op) return &function;
  }
  return nullptr;
}

UnaryCallee callee_of(const Node& node) {
  const Attributes& attrs = node.attrs();
  if (node.op_name() == op::kUnaryGrad) return {find_unary(attrs.text("function")), attrs.real("a"), attrs.real("b")};
  const auto& declared = node.op().attributes;
  const auto argument = [&](size_t index) { return index < declared.size() ? attrs.real(declared[index].name) : 0.0; };
  return {find_unary(node.op_name()), argument(0), argument(1)};
}

}  // namespace thalweg
