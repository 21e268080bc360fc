// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/channel_blocks.h"
#include "runtime/kernels/simd/conv_after.h"

namespace thalweg::simd {

// The loops of a convolution that is computed as a product of matrices, [pixels, channels * taps] by
// [channels * taps, output channels], one panel of output channels at a time.

/// Channels whose taps follow each other in the weights: (channel / kTapChannels, tap, channel % kTapChannels).
constexpr int64_t kTapChannels = 16;

/// How the left side is made of an image.
struct ConvPatches {
  int64_t blocks, height, width;  ///< of the image
  int64_t out_width;
  int64_t kernel_y, kernel_x, stride_y, stride_x, dilation_y, dilation_x;
  int64_t pad_y, pad_x;  ///< before the first row and column

  int64_t left_blocks(int lanes) const {
    return (blocks * lanes + kTapChannels - 1) / kTapChannels * kTapChannels / lanes * kernel_y * kernel_x;
  }
};
/// Gathers what the output pixels [first, first + pixels) are made of: left_blocks of [pixels][lanes], `left_stride`
/// floats apart, zeros for what lies outside.
TW_SIMD_FUNCTION(conv_gather,
                 (const ConvPatches& patches, const float* image, int64_t first, int64_t pixels, float* left,
                  int64_t left_stride),
                 (patches, image, first, pixels, left, left_stride));

/// Some pixels by one panel.
struct ConvProduct {
  const float* left;  ///< [left_blocks][pixels][lanes], blocks `left_stride` floats apart
  int64_t left_stride;
  int64_t left_blocks;
  const float* right;  ///< rows of the panel, `panel_vectors * lanes` floats each
  /// A panel of the same size that is wanted next and is brought into the caches meanwhile, or null.
  const float* next_right;
  int64_t pixels;
  int vectors;     ///< of the panel that exist; its rows keep their full stride
  float* partial;  ///< scratch: pixels * panel_vectors * lanes floats
  float* result;   ///< [vectors][pixels][lanes], `result_stride` floats apart
  int64_t result_stride;
  ConvAfter after;  ///< bias and residual are those of the panel and the first pixel
};
TW_SIMD_FUNCTION(conv_product, (const ConvProduct& product), (product));

}  // namespace thalweg::simd
