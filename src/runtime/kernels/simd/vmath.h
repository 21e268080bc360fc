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

/// e^x with about 1.5 units in the last place over the whole range; saturates to 0 and to e^88.37.
static inline float fast_exp(float x) {
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
  return p * bits_to_float((static_cast<int32_t>(n) + 127) << 23);
}

static inline float fast_sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

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

static inline float bf16_to_float(uint16_t bits) { return bits_to_float(static_cast<int32_t>(bits) << 16); }

/// Round to nearest even; NaNs are not kept apart (a NaN input stays a NaN or infinity).
static inline uint16_t float_to_bf16(float value) {
  const auto word = static_cast<uint32_t>(float_to_bits(value));
  return static_cast<uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

}  // namespace thalweg::simd::TW_SIMD_NS
