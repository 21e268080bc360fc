// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// One machine register of floats, for loops that the compiler does not vectorise by itself (reductions). Code written
// as a template over the type V runs with V = Vec and, for what is left over, with V = float.
// Included only by the .cc files of this folder (see dispatch.h).

#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using Vec = float __attribute__((vector_size(kLanes * sizeof(float))));
using VecInt = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));
using VecBits = uint32_t __attribute__((vector_size(kLanes * sizeof(uint32_t))));
using VecBf16 = uint16_t __attribute__((vector_size(kLanes * sizeof(uint16_t))));

template <typename V>
constexpr int kWidth = sizeof(V) / sizeof(float);

template <typename V>
static inline V load(const float* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <typename V>
static inline V load(const uint16_t* from) {
  if constexpr (sizeof(V) == sizeof(float)) {
    return bf16_to_float(*from);
  } else {
    VecBf16 narrow;
    __builtin_memcpy(&narrow, from, sizeof narrow);
    const VecBits wide = __builtin_convertvector(narrow, VecBits) << 16;
    V value;
    __builtin_memcpy(&value, &wide, sizeof value);
    return value;
  }
}

template <typename V>
static inline void store(float* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}

template <typename V>
static inline void store(uint16_t* to, V value) {
  if constexpr (sizeof(V) == sizeof(float)) {
    *to = float_to_bf16(value);
  } else {
    VecBits word;
    __builtin_memcpy(&word, &value, sizeof word);
    const VecBits rounded = (word + 0x7fffU + ((word >> 16) & 1U)) >> 16;
    const VecBf16 narrow = __builtin_convertvector(rounded, VecBf16);
    __builtin_memcpy(to, &narrow, sizeof narrow);
  }
}

template <typename V>
static inline V splat(float value) {
  return V{} + value;
}

/// `value` where `gate` is above zero, 0 elsewhere.
template <typename V>
static inline V where_positive(V gate, V value) {
  return gate > 0.0f ? value : V{};
}

/// max(value, 0); a NaN stays one.
template <typename V>
static inline V rectify(V value) {
  return value < 0.0f ? V{} : value;
}

template <typename V>
static inline V larger(V a, V b) {
  return a > b ? a : b;
}

static inline float exp_of(float x) { return fast_exp(x); }
/// As fast_exp, which see.
static inline Vec exp_of(Vec x) {
  const VecInt vanishes = x < -87.3f;
  x = x < -87.3f ? splat<Vec>(-87.3f) : x;
  x = x > 88.37f ? splat<Vec>(88.37f) : x;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  const Vec n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
  const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec p = splat<Vec>(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const VecInt exponent = (__builtin_convertvector(n, VecInt) + 127) << 23;
  Vec power;
  __builtin_memcpy(&power, &exponent, sizeof power);
  return vanishes ? Vec{} : p * power;
}

static inline float largest_of(float value) { return value; }
static inline float largest_of(Vec value) {
  float result = value[0];
  for (int i = 1; i < kLanes; ++i) result = value[i] > result ? value[i] : result;
  return result;
}

static inline float sum_of(float value) { return value; }
static inline float sum_of(Vec value) {
  float sum = 0.0f;
  for (int i = 0; i < kLanes; ++i) sum += value[i];
  return sum;
}

/// Calls f.part<V>(i) for i in [0, count), a register at a time and then one by one.
template <typename F>
static inline void each_part(int64_t count, F& f) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) f.template part<Vec>(i);
  for (; i < count; ++i) f.template part<float>(i);
}

/// A sum over one contiguous line: a register for the bulk, a float for the rest.
struct LineSum {
  Vec wide{};
  float narrow = 0.0f;
  void add(Vec value) { wide += value; }
  void add(float value) { narrow += value; }
  float total() const { return sum_of(wide) + narrow; }
};

}  // namespace thalweg::simd::TW_SIMD_NS
