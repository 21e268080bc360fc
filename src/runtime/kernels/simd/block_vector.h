// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// The vector that holds a channel block (see channel_blocks.h). Included only by the .cc files of this folder (see
// dispatch.h).

#include <immintrin.h>

#include "runtime/kernels/simd/conv_after.h"

namespace thalweg::simd::TW_SIMD_NS {

#if defined(__AVX512F__)
constexpr int kBlockLanes = 16, kPanelVectors = 4;
#elif defined(__AVX2__)
constexpr int kBlockLanes = 8, kPanelVectors = 2;
#else
constexpr int kBlockLanes = 4, kPanelVectors = 2;
#endif

typedef float BlockVector __attribute__((vector_size(kBlockLanes * sizeof(float))));

static inline BlockVector load_vector(const float* from) {
  BlockVector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}
static inline void store_vector(float* to, const BlockVector& vector) { __builtin_memcpy(to, &vector, sizeof vector); }

/// Past the caches; `to` must be aligned to a vector.
static inline void stream_vector(float* to, const BlockVector& vector) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, vector);
#elif defined(__AVX2__)
  _mm256_stream_ps(to, vector);
#else
  _mm_stream_ps(to, vector);
#endif
}

/// `low` where the value is not a number.
static inline BlockVector bounded_vector(const BlockVector& value, float low, float high) {
#if defined(__AVX512F__)
  // Masked, but for all lanes: GCC 12 warns of the plain forms.
  return _mm512_maskz_min_ps(0xffff, _mm512_maskz_max_ps(0xffff, value, _mm512_set1_ps(low)), _mm512_set1_ps(high));
#elif defined(__AVX2__)
  return _mm256_min_ps(_mm256_max_ps(value, _mm256_set1_ps(low)), _mm256_set1_ps(high));
#else
  return _mm_min_ps(_mm_max_ps(value, _mm_set1_ps(low)), _mm_set1_ps(high));
#endif
}

/// Stores an output that has its bias already. `residual` is null or where that of `to` lies.
static inline void finish_vector(const ConvAfter& after, BlockVector value, const float* residual, float* to) {
  if (residual != nullptr) value += load_vector(residual);
  if (after.bounded) value = bounded_vector(value, after.low, after.high);
  after.stream ? stream_vector(to, value) : store_vector(to, value);
}

/// Applies what remains to `count` floats of one channel block that were stored: slopes (`slope` is that block's) or
/// the function, then the scale.
static inline void finish_stored(const ConvAfter& after, const float* slope, float* at, int64_t count) {
  if (after.activated) {
    UnaryCall call;
    call.function = after.function;
    call.alpha = after.alpha;
    call.beta = after.beta;
    call.x = call.y = at;
    call.count = count;
    TW_SIMD_NS::unary(call);
  }
  if (!after.scaled && slope == nullptr) return;
  const BlockVector factor = slope == nullptr ? BlockVector{} + 1.0F : load_vector(slope);
  const float scale = after.scaled ? after.scale : 1.0F, shift = after.scaled ? after.shift : 0.0F;
  for (int64_t i = 0; i < count; i += kBlockLanes) {
    const BlockVector value = load_vector(at + i);
    store_vector(at + i, (value < 0.0F ? value * factor : value) * scale + shift);
  }
}

static inline void prefetch_to_l1(const float* from) { _mm_prefetch(reinterpret_cast<const char*>(from), _MM_HINT_T0); }
static inline void prefetch_to_l2(const float* from) { _mm_prefetch(reinterpret_cast<const char*>(from), _MM_HINT_T1); }

}  // namespace thalweg::simd::TW_SIMD_NS
