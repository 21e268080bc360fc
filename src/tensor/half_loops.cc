// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Compiled with -O3 (cmake/Library.cmake): the loops over bf16 are to be vectorised.
#include "tensor/half_loops.h"

#include <immintrin.h>

#include <bit>

namespace thalweg {
namespace {

// The same loop is compiled for SSE and, where it is inlined into a function for AVX2, for that.
#define TW_INLINE inline __attribute__((always_inline))
#define TW_AVX2 __attribute__((target("avx2,f16c")))

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}

TW_INLINE float float_of(uint16_t bf16) { return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16U); }

TW_INLINE uint16_t bf16_of(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (word + 0x7fffU + ((word >> 16U) & 1U)) >> 16U;
  const uint32_t quiet_nan = (word >> 16U) | 0x0040U;
  return static_cast<uint16_t>((word & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

TW_INLINE void narrow_loop(const float* from, BF16* to, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i].bits = bf16_of(from[i]);
}
TW_INLINE void widen_loop(const BF16* from, float* to, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = float_of(from[i].bits);
}
TW_INLINE void add_loop(BF16* out, const BF16* left, const BF16* right, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) out[i].bits = bf16_of(float_of(left[i].bits) + float_of(right[i].bits));
}

TW_AVX2 void narrow_avx2(const float* from, BF16* to, size_t count) { narrow_loop(from, to, count); }
TW_AVX2 void widen_avx2(const BF16* from, float* to, size_t count) { widen_loop(from, to, count); }
TW_AVX2 void add_avx2(BF16* out, const BF16* left, const BF16* right, size_t count) {
  add_loop(out, left, right, count);
}

// F16C has the conversions; each returns how many elements it has done, the rest being fewer than a vector.
constexpr size_t kLanes = 8;

TW_AVX2 TW_INLINE __m256 load_f16(const F16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
TW_AVX2 TW_INLINE void store_f16(F16* to, __m256 values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}

TW_AVX2 size_t narrow_f16c(const float* from, F16* to, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_f16(to + i, _mm256_loadu_ps(from + i));
  return i;
}
TW_AVX2 size_t widen_f16c(const F16* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) _mm256_storeu_ps(to + i, load_f16(from + i));
  return i;
}
TW_AVX2 size_t add_f16c(F16* out, const F16* left, const F16* right, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_f16(out + i, _mm256_add_ps(load_f16(left + i), load_f16(right + i)));
  return i;
}

}  // namespace

void narrow(const float* from, BF16* to, size_t count) {
  has_avx2() ? narrow_avx2(from, to, count) : narrow_loop(from, to, count);
}
void widen(const BF16* from, float* to, size_t count) {
  has_avx2() ? widen_avx2(from, to, count) : widen_loop(from, to, count);
}
void add(BF16* out, const BF16* left, const BF16* right, size_t count) {
  has_avx2() ? add_avx2(out, left, right, count) : add_loop(out, left, right, count);
}

void narrow(const float* from, F16* to, size_t count) {
  for (size_t i = has_avx2() ? narrow_f16c(from, to, count) : 0; i < count; ++i) to[i] = F16(from[i]);
}
void widen(const F16* from, float* to, size_t count) {
  for (size_t i = has_avx2() ? widen_f16c(from, to, count) : 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
void add(F16* out, const F16* left, const F16* right, size_t count) {
  for (size_t i = has_avx2() ? add_f16c(out, left, right, count) : 0; i < count; ++i) {
    out[i] = F16(static_cast<float>(left[i]) + static_cast<float>(right[i]));
  }
}

}  // namespace thalweg
