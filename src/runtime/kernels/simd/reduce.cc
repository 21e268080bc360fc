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

}  // namespace

void channel_sums(const ChannelRows& piece, const void* x, double* sum) {
  if (piece.bf16) return sums_of<uint16_t>(piece, x, sum);
  sums_of<float>(piece, x, sum);
}

}  // namespace thalweg::simd::TW_SIMD_NS
