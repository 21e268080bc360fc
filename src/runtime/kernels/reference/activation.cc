// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <numbers>

#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Arguments "alpha" and "beta" of a function, where it has any.
struct Arguments {
  double alpha;
  double beta;
};

using Scalar = double (*)(double value, const Arguments& arguments);
struct Functions {
  Scalar value;
  /// Of the input, or of the output for the functions whose gradient is computed from it (src/ops/activation.cc).
  Scalar derivative;
};

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kGeluCubic = 0.044715;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_cdf(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_inner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + kGeluCubic * x * x * x); }
double gelu_tanh_derivative(double x) {
  const double t = std::tanh(gelu_inner(x));
  const double inner = std::sqrt(2 / std::numbers::pi) * (1 + 3 * kGeluCubic * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
}
double mish_derivative(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}

const std::map<std::string, Functions>& functions() {
  using A = Arguments;
  static const std::map<std::string, Functions> table = {
      {"relu",
       {[](double x, const A&) { return x > 0 || x != x ? x : 0; },
        [](double y, const A&) { return y > 0 ? 1.0 : 0.0; }}},
      {"leaky_relu",
       {[](double x, const A& a) { return x > 0 ? x : a.alpha * x; },
        [](double x, const A& a) { return x > 0 ? 1.0 : a.alpha; }}},
      {"elu",
       {[](double x, const A& a) { return x > 0 ? x : a.alpha * std::expm1(x); },
        [](double x, const A& a) { return x > 0 ? 1.0 : a.alpha * std::exp(x); }}},
      {"selu",
       {[](double x, const A&) { return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x)); },
        [](double x, const A&) { return kSeluScale * (x > 0 ? 1.0 : kSeluAlpha * std::exp(x)); }}},
      {"celu",
       {[](double x, const A& a) { return x > 0 ? x : a.alpha * std::expm1(x / a.alpha); },
        [](double x, const A& a) { return x > 0 ? 1.0 : std::exp(x / a.alpha); }}},
      {"gelu",
       {[](double x, const A&) { return x * normal_cdf(x); },
        [](double x, const A&) { return normal_cdf(x) + x * normal_density(x); }}},
      {"gelu_tanh",
       {[](double x, const A&) { return 0.5 * x * (1 + std::tanh(gelu_inner(x))); },
        [](double x, const A&) { return gelu_tanh_derivative(x); }}},
      {"silu",
       {[](double x, const A&) { return x * sigmoid(x); },
        [](double x, const A&) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }}},
      {"mish",
       {[](double x, const A&) { return x * std::tanh(softplus(x)); },
        [](double x, const A&) { return mish_derivative(x); }}},
      {"sigmoid", {[](double x, const A&) { return sigmoid(x); }, [](double y, const A&) { return y * (1 - y); }}},
      {"log_sigmoid",
       {[](double x, const A&) { return -softplus(-x); }, [](double x, const A&) { return sigmoid(-x); }}},
      {"hard_sigmoid",
       {[](double x, const A& a) { return std::fmin(1, std::fmax(0, a.alpha * x + a.beta)); },
        [](double x, const A& a) {
          const double v = a.alpha * x + a.beta;
          return v > 0 && v < 1 ? a.alpha : 0.0;
        }}},
      {"hard_swish",
       {[](double x, const A&) { return x * std::fmin(6, std::fmax(0, x + 3)) / 6; },
        [](double x, const A&) { return x <= -3  ? 0.0
                                        : x >= 3 ? 1.0
                                                 : x / 3 + 0.5; }}},
      {"tanh", {[](double x, const A&) { return std::tanh(x); }, [](double y, const A&) { return 1 - y * y; }}},
      {"softplus",
       {[](double x, const A& a) { return softplus(a.beta * x) / a.beta; },
        [](double x, const A& a) { return sigmoid(a.beta * x); }}},
      {"softsign",
       {[](double x, const A&) { return x / (1 + std::fabs(x)); },
        [](double x, const A&) {
          const double d = 1 + std::fabs(x);
          return 1 / (d * d);
        }}},
      {"hard_shrink",
       {[](double x, const A& a) { return std::fabs(x) > a.alpha ? x : 0.0; },
        [](double x, const A& a) { return std::fabs(x) > a.alpha ? 1.0 : 0.0; }}},
      {"soft_shrink",
       {[](double x, const A& a) { return x > a.alpha    ? x - a.alpha
                                          : x < -a.alpha ? x + a.alpha
                                                         : 0.0; },
        [](double x, const A& a) { return std::fabs(x) > a.alpha ? 1.0 : 0.0; }}},
      {"tanh_shrink",
       {[](double x, const A&) { return x - std::tanh(x); },
        [](double x, const A&) {
          const double t = std::tanh(x);
          return t * t;
        }}},
      {"threshold",
       {[](double x, const A& a) { return x > a.alpha ? x : a.beta; },
        [](double x, const A& a) { return x > a.alpha ? 1.0 : 0.0; }}},
      {"clip",
       {[](double x, const A& a) { return x < a.alpha  ? a.alpha
                                          : x > a.beta ? a.beta
                                                       : x; },
        [](double x, const A& a) { return x > a.alpha && x < a.beta ? 1.0 : 0.0; }}},
      {"exp", {[](double x, const A&) { return std::exp(x); }, [](double y, const A&) { return y; }}},
      {"log", {[](double x, const A&) { return std::log(x); }, [](double x, const A&) { return 1 / x; }}},
      {"sqrt", {[](double x, const A&) { return std::sqrt(x); }, [](double y, const A&) { return 0.5 / y; }}},
      {"rsqrt",
       {[](double x, const A&) { return 1 / std::sqrt(x); }, [](double y, const A&) { return -0.5 * y * y * y; }}},
      {"square", {[](double x, const A&) { return x * x; }, [](double x, const A&) { return 2 * x; }}},
      {"reciprocal", {[](double x, const A&) { return 1 / x; }, [](double y, const A&) { return -y * y; }}},
      {"abs",
       {[](double x, const A&) { return std::fabs(x); },
        [](double x, const A&) { return x > 0   ? 1.0
                                        : x < 0 ? -1.0
                                                : 0.0; }}},
      {"erf",
       {[](double x, const A&) { return std::erf(x); },
        [](double x, const A&) { return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x); }}},
      {"sin", {[](double x, const A&) { return std::sin(x); }, [](double x, const A&) { return std::cos(x); }}},
      {"cos", {[](double x, const A&) { return std::cos(x); }, [](double x, const A&) { return -std::sin(x); }}},
      {"neg", {[](double x, const A&) { return -x; }, nullptr}},
      {"sign", {[](double x, const A&) { return x > 0   ? 1.0
                                                : x < 0 ? -1.0
                                                        : x; }, nullptr}},
      {"floor", {[](double x, const A&) { return std::floor(x); }, nullptr}},
      {"ceil", {[](double x, const A&) { return std::ceil(x); }, nullptr}},
      {"round", {[](double x, const A&) { return std::nearbyint(x); }, nullptr}},
  };
  return table;
}

Arguments arguments_of(const Attributes& attrs) { return {attrs.real("alpha"), attrs.real("beta", 1.0)}; }

void forward(const ReferenceCall& call) {
  const Scalar function = functions().at(call.node.op_name()).value;
  const Arguments arguments = arguments_of(call.attrs());
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    T* y = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      y[i] = static_cast<T>(function(static_cast<double>(x[i]), arguments));
    }
  });
}

void backward(const ReferenceCall& call) {
  const Scalar derivative = functions().at(call.attrs().text("function")).derivative;
  const Arguments arguments = arguments_of(call.attrs());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* dy = call.in(0).data<T>();
    const T* saved = call.in(1).data<T>();
    T* dx = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      dx[i] = static_cast<T>(dy[i] * derivative(static_cast<double>(saved[i]), arguments));
    }
  });
}

struct RegisterAll {
  RegisterAll() {
    for (const auto& [name, function] : functions()) RegisterReference(name, forward);
    RegisterReference("unary_grad", backward);
  }
};
const RegisterAll kAll;

}  // namespace
}  // namespace thalweg
