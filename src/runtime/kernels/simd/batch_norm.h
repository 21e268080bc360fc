// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// A contiguous piece of an activation: `rows` rows of `channels` elements each, f32 or bf16. One row-major channel is
/// rows of one element. Vectors given along with it have one float per channel.
struct ChannelRows {
  int64_t rows = 0;
  int64_t channels = 0;
  bool bf16 = false;
  /// Elements from here to the piece that comes next, which is fetched ahead of time while this one is summed; 0 if
  /// there is no need. Short pieces that lie far apart are over before the processor sees a pattern in them.
  int64_t ahead = 0;
};

/// Adds to sum[c] and squares[c] those of x - pivot. A pivot near the mean keeps them exact where the mean is large.
TW_SIMD_FUNCTION(batch_norm_sums,
                 (const ChannelRows& piece, const void* x, const float* pivot, double* sum, double* squares),
                 (piece, x, pivot, sum, squares));

struct BatchNormForward {
  const void* x;
  const void* residual;  ///< null if none
  void* y;
  const float* mean;
  const float* factor;  ///< scale / standard deviation
  const float* shift;
  bool relu;
  /// Write around the caches: for results larger than they are.
  bool stream;
};
/// y = (x - mean) * factor + shift, plus the residual, rectified if asked for.
TW_SIMD_FUNCTION(batch_norm_apply, (const ChannelRows& piece, const BatchNormForward& call), (piece, call));

enum class ReluMask {
  kNone,
  kFromX,  ///< what the forward pass computed before rectifying, computed again
  kFromY
};

struct BatchNormBackward {
  const void* dy;
  const void* dy2;  ///< null, or added to dy
  const void* x;
  const void* y;    ///< for kFromY
  void* masked_dy;  ///< null, or where the sums leave the masked dy (which is the gradient of a residual)
  void* dx;
  const float* mean;
  const float* factor;
  const float* shift;  ///< for kFromX
  /// dx = factor * masked dy + offset + slope * (x - mean)
  const float* offset;
  const float* slope;
  ReluMask mask;
  bool stream;
};
/// Adds to sum[c] that of the masked dy, and to products[c] that of the masked dy times (x - mean).
TW_SIMD_FUNCTION(batch_norm_grad_sums,
                 (const ChannelRows& piece, const BatchNormBackward& call, double* sum, double* products),
                 (piece, call, sum, products));
TW_SIMD_FUNCTION(batch_norm_grad_apply, (const ChannelRows& piece, const BatchNormBackward& call), (piece, call));

}  // namespace thalweg::simd
