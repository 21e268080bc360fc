// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/conv_product.h"

#include "runtime/kernels/simd/panel_store.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

template <int vectors>
void multiply(const ConvProduct& product) {
  const PanelProduct job{product.left,   product.left_stride, product.right,  product.next_right,
                         product.pixels, product.left_blocks, product.partial};
  panel_product<vectors>(job, StorePixels(product.after, product.result, product.result_stride));
}

/// One channel block as one tap sees it.
void gather_tap(const ConvPatches& patches, const float* block, int64_t tap, int64_t first, int64_t pixels, float* to) {
  const int64_t shift_y = tap / patches.kernel_x * patches.dilation_y - patches.pad_y;
  const int64_t shift_x = tap % patches.kernel_x * patches.dilation_x - patches.pad_x;
  int64_t row = first / patches.out_width, column = first % patches.out_width;
  for (int64_t p = 0; p < pixels; ++p) {
    const int64_t y = row * patches.stride_y + shift_y, x = column * patches.stride_x + shift_x;
    const bool inside = y >= 0 && y < patches.height && x >= 0 && x < patches.width;
    store_vector(to + p * kBlockLanes,
                 inside ? load_vector(block + (y * patches.width + x) * kBlockLanes) : BlockVector{});
    if (++column == patches.out_width) {
      column = 0;
      ++row;
    }
  }
}

}  // namespace

void conv_gather(const ConvPatches& patches, const float* image, int64_t first, int64_t pixels, float* left,
                 int64_t left_stride) {
  constexpr int64_t together = kTapChannels / kBlockLanes;
  const int64_t taps = patches.kernel_y * patches.kernel_x;
  const int64_t all = patches.left_blocks(kBlockLanes);
  for (int64_t at = 0; at < all; ++at) {
    const int64_t block = at / (taps * together) * together + at % together;
    float* to = left + at * left_stride;
    if (block < patches.blocks) {
      const float* from = image + block * patches.height * patches.width * kBlockLanes;
      gather_tap(patches, from, at / together % taps, first, pixels, to);
    } else {
      for (int64_t p = 0; p < pixels; ++p) store_vector(to + p * kBlockLanes, BlockVector{});
    }
  }
}

void conv_product(const ConvProduct& product) {
  with_vectors(product.vectors, [&](auto vectors) { multiply<vectors>(product); });
}

}  // namespace thalweg::simd::TW_SIMD_NS
