// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementary functions as straight-line code that the compiler turns into vector code inside a loop.
// Included only by the .cc files of this folder (see dispatch.h).

#include <cmath>
#include <cstdint>
#include <cstring>

namespace thalweg::simd::TW_SIMD_NS {

static inline float bits_to_float(int32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

static inline int32_t float_to_bits(float value) {
  int32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// e^x with about 1.5 units in the last place; 0 below -87.3, where results would be denormal (a hundred times slower
/// to compute with), and saturates to e^88.37.
static inline float fast_exp(float x) {
  const bool vanishes = x < -87.3f;
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.37f ? 88.37f : x;
  const float n = std::floor(x * 1.44269504f + 0.5f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const float power = p * bits_to_float((static_cast<int32_t>(n) + 127) << 23);
  return vanishes ? 0.0f : power;
}

/// 0 below -87, where the quotient would be denormal.
static inline float fast_sigmoid(float x) {
  const float value = 1.0f / (1.0f + fast_exp(x < -87.0f ? 87.0f : -x));
  return x < -87.0f ? 0.0f : value;
}

/// Absolute error below 2e-7. The odd polynomial avoids the cancellation of the quotient near zero.
static inline float fast_tanh(float x) {
  const float a = std::fabs(x);
  const float e = fast_exp(-2.0f * a);
  const float big = (1.0f - e) / (1.0f + e);
  const float s = x * x;
  float small = -5.70498872745e-3f;
  small = small * s + 2.06390887954e-2f;
  small = small * s - 5.37397155531e-2f;
  small = small * s + 1.33314422036e-1f;
  small = small * s - 3.33332819422e-1f;
  small = small * s * a + a;
  const float magnitude = a < 0.625f ? small : big;
  return x < 0.0f ? -magnitude : magnitude;
}

/// e^x - 1 without cancellation near zero.
static inline float fast_expm1(float x) {
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.37f ? 88.37f : x;
  const float n = std::floor(x * 1.44269504f + 0.5f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r;
  const float power = bits_to_float((static_cast<int32_t>(n) + 127) << 23);
  return power * p + (power - 1.0f);
}

/// Natural logarithm, about 2 units in the last place; -inf at zero, NaN below.
static inline float fast_log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const int32_t bits = float_to_bits(scaled);
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const int32_t shifted = bits - 0x3f3504f3;
  const float e = static_cast<float>(shifted >> 23) - (tiny ? 23.0f : 0.0f);
  const float f = bits_to_float((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float square = f * f;
  float result = p * f * square + e * -2.12194440e-4f;
  result = result - 0.5f * square;
  result = f + result + e * 0.693359375f;
  result = x > 3.4028234e38f ? x : result;
  result = x == 0.0f ? -__builtin_inff() : result;
  return x >= 0.0f ? result : __builtin_nanf("");
}

/// log(1 + u) for u in [0, 1].
static inline float fast_log1p(float u) {
  const float y = 1.0f + u;
  return fast_log(y) + (u - (y - 1.0f)) / y;
}

static inline float fast_softplus(float x) { return (x > 0.0f ? x : 0.0f) + fast_log1p(fast_exp(-std::fabs(x))); }

/// A quotient of polynomials on [-4, 4], beyond which the result is 1 in float; absolute error below 3e-7.
static inline float fast_erf(float x) {
  x = x < -4.0f ? -4.0f : x;
  x = x > 4.0f ? 4.0f : x;
  const float s = x * x;
  float p = -2.72614225801306e-10f;
  p = p * s + 2.77068142495902e-08f;
  p = p * s - 2.10102402082508e-06f;
  p = p * s - 5.69250639462346e-05f;
  p = p * s - 7.34990630326855e-04f;
  p = p * s - 2.95459980854025e-03f;
  p = p * s - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * s - 2.13374055278905e-04f;
  q = q * s - 1.68282697438203e-03f;
  q = q * s - 7.37332916720468e-03f;
  q = q * s - 1.42647390514189e-02f;
  return x * p / q;
}

static inline float bf16_to_float(uint16_t bits) { return bits_to_float(static_cast<int32_t>(bits) << 16); }

/// Round to nearest even; NaNs are not kept apart (a NaN input stays a NaN or infinity).
static inline uint16_t float_to_bf16(float value) {
  const auto word = static_cast<uint32_t>(float_to_bits(value));
  return static_cast<uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

}  // namespace thalweg::simd::TW_SIMD_NS
