// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/panel_product.h"
#include "runtime/kernels/simd/winograd.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int kLanes = kBlockLanes;

/// Leaves the sums as rows of a panel.
struct StoreRows {
  float* result;

  template <int rows, int vectors>
  void prepare(int64_t /*row*/) const {}
  template <int rows, int vectors>
  void store(const Sums<rows, vectors>& sums, int64_t row) const {
    sums.store(result + row * kPanelFloats);
  }
};

template <int vectors>
void multiply(const WinogradProduct& product) {
  const PanelProduct job{product.left,  product.left_stride,    product.right, product.next_right,
                         product.tiles, product.channel_blocks, product.result};
  panel_product<vectors>(job, StoreRows{product.result});
}

template <int rows, int vectors>
void channels_by_tiles(const WinogradProduct& product, int64_t block, int channel) {
  float* result = product.result + (block * kLanes + channel) * kPanelFloats;
  Sums<rows, vectors> sums;
  product.accumulate ? sums.load(result) : sums.clear();
  const float* left = product.left + block * product.left_stride + channel;
  const float* right = product.right;
#pragma GCC unroll 2
  for (int64_t t = 0; t < product.tiles; ++t) {
    sums.add(left, 1, right);
    left += kLanes;
    right += kPanelFloats;
  }
  sums.store(result);
}

template <int vectors>
void multiply_tiles(const WinogradProduct& product) {
  for (int64_t block = 0; block < product.channel_blocks; ++block) {
#if defined(__AVX512F__)
    if constexpr (vectors > 2) {
      channels_by_tiles<6, vectors>(product, block, 0);
      channels_by_tiles<5, vectors>(product, block, 6);
      channels_by_tiles<5, vectors>(product, block, 11);
    } else {
      channels_by_tiles<8, vectors>(product, block, 0);
      channels_by_tiles<8, vectors>(product, block, 8);
    }
#else
    for (int channel = 0; channel < kLanes; channel += 4) channels_by_tiles<4, vectors>(product, block, channel);
#endif
  }
}

}  // namespace

void winograd_multiply(const WinogradProduct& product) {
  with_vectors(product.vectors, [&](auto vectors) { multiply<vectors>(product); });
}

void winograd_multiply_tiles(const WinogradProduct& product) {
  with_vectors(product.vectors, [&](auto vectors) { multiply_tiles<vectors>(product); });
}

}  // namespace thalweg::simd::TW_SIMD_NS
