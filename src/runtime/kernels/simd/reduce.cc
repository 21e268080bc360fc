// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/reduce.h"

#include "runtime/kernels/simd/channel_rows.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

template <typename T>
struct SumBody {
  const T* x;
  ColumnSums* sums;

  template <typename V>
  void column(int64_t at, int64_t rows, int64_t stride, int64_t c) const {
    // Four sums at a time: one alone would wait for its own last addition.
    float* sum = sums->a + (c - sums->first);
    V s0 = load<V>(sum), s1{}, s2{}, s3{};
    const T* from = x + at;
    for (; rows >= 4; rows -= 4, from += 4 * stride) {
      s0 += load<V>(from);
      s1 += load<V>(from + stride);
      s2 += load<V>(from + 2 * stride);
      s3 += load<V>(from + 3 * stride);
    }
    for (; rows > 0; --rows, from += stride) s0 += load<V>(from);
    store(sum, (s0 + s1) + (s2 + s3));
  }
};

template <typename T>
void sums_of(const ChannelRows& piece, const void* x, double* sum) {
  const Grid grid = grid_of(piece);
  ColumnSums sums;
  walk_summing(grid, piece, sums, SumBody<T>{static_cast<const T*>(x), &sums}, sum, nullptr);
}

template <bool largest, typename V>
inline V extreme(V best, V x) {
  if constexpr (largest) return ((x > best) | (x != x)) ? x : best;
  return ((x < best) | (x != x)) ? x : best;
}

template <bool largest>
struct ExtremeBody {
  const Extremes& of;
  float* result;

  template <typename V>
  void part(int64_t i) {
    V best = load<V>(result + i);
    const float* from = of.x + i;
    for (int64_t row = 0; row < of.rows; ++row, from += of.stride) best = extreme<largest>(best, load<V>(from));
    store(result + i, best);
  }
};

template <bool largest>
void extreme_of_line(const float* x, int64_t count, float* result) {
  int64_t i = 0;
  float best = *result;
  if (count >= kLanes) {
    Vec wide = load<Vec>(x);
    for (i = kLanes; i + kLanes <= count; i += kLanes) wide = extreme<largest>(wide, load<Vec>(x + i));
    for (int lane = 0; lane < kLanes; ++lane) best = extreme<largest>(best, wide[lane]);
  }
  for (; i < count; ++i) best = extreme<largest>(best, x[i]);
  *result = best;
}

template <bool largest>
void extremes_of(const Extremes& of, float* result) {
  if (of.width == 1 && of.stride == 1) return extreme_of_line<largest>(of.x, of.rows, result);
  ExtremeBody<largest> body{of, result};
  each_part(of.width, body);
}

}  // namespace

void find_extremes(const Extremes& of, float* result) {
  of.largest ? extremes_of<true>(of, result) : extremes_of<false>(of, result);
}

void channel_sums(const ChannelRows& piece, const void* x, double* sum) {
  if (piece.bf16) return sums_of<uint16_t>(piece, x, sum);
  sums_of<float>(piece, x, sum);
}

}  // namespace thalweg::simd::TW_SIMD_NS
