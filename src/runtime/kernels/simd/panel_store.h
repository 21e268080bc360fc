// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the sums of a product go whose rows are pixels. Included only by the .cc files of this folder (see dispatch.h).

#include "runtime/kernels/simd/panel_product.h"

namespace thalweg::simd::TW_SIMD_NS {

/// Puts the sums, finished, into the blocks of their channels.
class StorePixels {
 public:
  /// `result` is that of the panel's first block and the first pixel, and so are bias and residual of `after`; blocks
  /// lie `stride` floats apart.
  StorePixels(const ConvAfter& after, float* result, int64_t stride)
      : after_(after), result_(result), stride_(stride) {}

  template <int rows, int vectors>
  void prepare(int64_t row) const {
    if (after_.residual == nullptr) return;
    for (int v = 0; v < vectors; ++v) {
      for (int r = 0; r < rows; ++r) prefetch_to_l1(after_.residual + v * stride_ + (row + r) * kBlockLanes);
    }
  }

  template <int rows, int vectors>
  void store(const Sums<rows, vectors>& sums, int64_t row) const {
    // Copies: for all the compiler knows, a store of floats could change the members.
    const ConvAfter after = after_;
    float* const result = result_ + row * kBlockLanes;
    const float* const residual = after.residual == nullptr ? nullptr : after.residual + row * kBlockLanes;
    const int64_t stride = stride_;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const BlockVector bias = after.bias != nullptr ? load_vector(after.bias + v * kBlockLanes) : BlockVector{};
#pragma GCC unroll 24
      for (int r = 0; r < rows; ++r) {
        const int64_t at = v * stride + r * kBlockLanes;
        finish_vector(after, sums.sum[r][v] + bias, residual == nullptr ? nullptr : residual + at, result + at);
      }
    }
    if (!after.goes_over_stored()) return;
    for (int v = 0; v < vectors; ++v) {
      const float* slope = after.slope == nullptr ? nullptr : after.slope + v * kBlockLanes;
      finish_stored(after, slope, result + v * stride, int64_t{rows} * kBlockLanes);
    }
  }

 private:
  const ConvAfter& after_;
  float* result_;
  int64_t stride_;
};

}  // namespace thalweg::simd::TW_SIMD_NS
