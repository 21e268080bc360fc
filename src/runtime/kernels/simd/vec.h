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

static inline float sum_of(float value) { return value; }
static inline float sum_of(Vec value) {
  float sum = 0.0f;
  for (int i = 0; i < kLanes; ++i) sum += value[i];
  return sum;
}

}  // namespace thalweg::simd::TW_SIMD_NS
