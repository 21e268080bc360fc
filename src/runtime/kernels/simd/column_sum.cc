// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/column_sum.h"

#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int64_t kWidth = 64;

float load(float value) { return value; }
float load(uint16_t value) { return bf16_to_float(value); }

/// A strip of columns at a time, so that the sums stay in registers.
template <typename T>
void sum_strips(const T* x, int64_t rows, int64_t columns, int64_t stride, float* out) {
  int64_t c = 0;
  for (; c + kWidth <= columns; c += kWidth) {
    float sums[kWidth] = {};
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * stride + c;
      for (int64_t i = 0; i < kWidth; ++i) sums[i] += load(row[i]);
    }
    for (int64_t i = 0; i < kWidth; ++i) out[c + i] = sums[i];
  }
  for (; c < columns; ++c) {
    float sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += load(x[r * stride + c]);
    out[c] = sum;
  }
}

}  // namespace

void column_sum(const float* x, int64_t rows, int64_t columns, int64_t stride, float* out) {
  sum_strips(x, rows, columns, stride, out);
}

void column_sum_bf16(const uint16_t* x, int64_t rows, int64_t columns, int64_t stride, float* out) {
  sum_strips(x, rows, columns, stride, out);
}

}  // namespace thalweg::simd::TW_SIMD_NS
