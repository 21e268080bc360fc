// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/init/inverse_normal.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace thalweg::nn::init {
namespace {

template <size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
  double value = 0.0;
  for (const double c : coefficients) value = value * x + c;
  return value;
}

// P. J. Acklam's rational approximation: a centre and two tails.
constexpr std::array<double, 6> kCentreTop = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                              1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
constexpr std::array<double, 6> kCentreBottom = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                                 6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
constexpr std::array<double, 6> kTailTop = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                            -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
constexpr std::array<double, 5> kTailBottom = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                               3.754408661907416e+00, 1.0};

double tail(double p) {
  const double q = std::sqrt(-2.0 * std::log(p));
  return polynomial(kTailTop, q) / polynomial(kTailBottom, q);
}

}  // namespace

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double inverse_normal_cdf(double p) {
  constexpr double kTail = 0.02425;
  if (p <= 0.0) return -std::numeric_limits<double>::infinity();
  if (p >= 1.0) return std::numeric_limits<double>::infinity();
  if (p < kTail) return tail(p);
  if (p > 1.0 - kTail) return -tail(1.0 - p);
  const double q = p - 0.5;
  return polynomial(kCentreTop, q * q) * q / polynomial(kCentreBottom, q * q);
}

}  // namespace thalweg::nn::init
