// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/channel_blocks.h"
#include "runtime/kernels/simd/conv_after.h"

namespace thalweg::simd {

/// One row of output pixels by one panel of output channels, for a convolution of few channels: what a pixel is made of
/// is read where it lies, in rows of the image that hold their padding.
struct ConvRow {
  const float* source;     ///< what the first tap of the first pixel sees
  const int64_t* offsets;  ///< [taps] from there, in floats
  int64_t taps;            ///< of all channels
  int64_t pixel_stride;    ///< floats from a pixel's source to the next one's
  const float* right;      ///< [taps] rows of the panel
  int64_t pixels;
  int vectors;    ///< of the panel that exist; its rows keep their full stride
  float* result;  ///< [vectors][pixels][lanes], `result_stride` floats apart
  int64_t result_stride;
  ConvAfter after;  ///< bias and residual are those of the panel and the first pixel
};
TW_SIMD_FUNCTION(conv_row, (const ConvRow& row), (row));

}  // namespace thalweg::simd
