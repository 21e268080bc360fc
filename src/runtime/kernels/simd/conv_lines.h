// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// A line of output pixels of some channels, for a convolution of few output channels: vectors go along the line, so
/// that none is filled with channels that do not exist. Neighbouring pixels read neighbouring floats.
struct ConvLine {
  const float* source;  ///< what the first tap of the first pixel sees; kLineSlack floats may be read beyond the last
  const int64_t* offsets;  ///< [taps] from there, in floats
  int64_t taps;            ///< of all input channels
  const float* weights;    ///< [channels][taps]
  const float* bias;       ///< [channels] or null
  int64_t channels;
  int64_t pixels;
  float* result;  ///< [channels] lines, `result_stride` floats apart
  int64_t result_stride;
};
constexpr int64_t kLineSlack = 64;

TW_SIMD_FUNCTION(conv_line, (const ConvLine& line), (line));

}  // namespace thalweg::simd
