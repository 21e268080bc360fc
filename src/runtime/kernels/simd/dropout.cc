// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/dropout.h"

#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

inline float widen(float value) { return value; }
inline float widen(uint16_t value) { return bf16_to_float(value); }
inline void narrow(float value, float* to) { *to = value; }
inline void narrow(float value, uint16_t* to) { *to = float_to_bf16(value); }

inline uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x21f0aaadU;
  x ^= x >> 15;
  x *= 0xd35a2d97U;
  return x ^ (x >> 15);
}

/// Elements whose positions share the upper 32 bits, so that all arithmetic is on vectors of 32 bits.
template <typename T>
void span(const DropoutCall& call, const T* x, T* y, int64_t count, uint64_t position) {
  const auto low = static_cast<uint32_t>(position);
  const uint32_t second = call.mask_second + static_cast<uint32_t>(position >> 32) * 0x9e3779b9U;
  const uint32_t key = call.mask_first, threshold = call.threshold;
  const auto step = static_cast<uint32_t>(call.column_step);
  const float scale = call.scale;
  const auto length = static_cast<uint32_t>(count);
#pragma GCC ivdep
  for (uint32_t i = 0; i < length; ++i) {
    const uint32_t bits = mix(mix((low + i * step) ^ key) + second);
    const float kept = widen(x[i]) * scale;
    narrow(bits >= threshold ? kept : 0.0f, y + i);
  }
}

template <typename T>
void dropout_of(const DropoutCall& call) {
  constexpr int64_t kLongest = int64_t{1} << 20;
  for (int64_t row = 0; row < call.rows; ++row) {
    int64_t column = 0;
    while (column < call.columns) {
      const uint64_t position =
          call.first + static_cast<uint64_t>(row) * call.row_step + static_cast<uint64_t>(column) * call.column_step;
      const uint64_t left = (0x100000000U - (position & 0xffffffffU) + call.column_step - 1) / call.column_step;
      int64_t count = call.columns - column < kLongest ? call.columns - column : kLongest;
      if (static_cast<uint64_t>(count) > left) count = static_cast<int64_t>(left);
      const int64_t at = row * call.columns + column;
      span(call, static_cast<const T*>(call.x) + at, static_cast<T*>(call.y) + at, count, position);
      column += count;
    }
  }
}

}  // namespace

void dropout(const DropoutCall& call) {
  if (call.bf16) return dropout_of<uint16_t>(call);
  dropout_of<float>(call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
