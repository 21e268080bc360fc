// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/simd/batch_norm.h"

namespace thalweg::simd {

/// Adds to sum[c] that of each channel.
TW_SIMD_FUNCTION(channel_sums, (const ChannelRows& piece, const void* x, double* sum), (piece, x, sum));

/// Elements of which the largest, or the least, are looked for: `width` columns of `rows` rows, `stride` floats apart.
struct Extremes {
  const float* x;
  int64_t rows;
  int64_t stride;
  int64_t width;
  bool largest;
};
/// result[i] = the extreme of itself and column i; a NaN stays. One column whose rows lie side by side is a line.
TW_SIMD_FUNCTION(find_extremes, (const Extremes& of, float* result), (of, result));

/// How elements are folded into one number.
enum class Fold { kProduct, kAbsolutes, kSquares, kExponentials };
/// Elements that are folded: `width` columns of `rows` rows, `stride` floats apart. What is subtracted from each column
/// before the exponential is taken stands in `largest`, which the others leave null.
struct Folding {
  const float* x;
  int64_t rows;
  int64_t stride;
  int64_t width;
  Fold fold;
  const float* largest;
};
/// result[i] = itself times, or plus, what column i comes to. One column whose rows lie side by side is a line.
TW_SIMD_FUNCTION(fold_columns, (const Folding& of, double* result), (of, result));

}  // namespace thalweg::simd
