// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Lines along an axis, side by side: element k of line j is at k * stride + j. With a stride of 1 there is one line.
struct Lines {
  int64_t size = 0;    ///< elements of a line
  int64_t stride = 1;  ///< between the elements of a line
  int64_t count = 1;   ///< of lines
  bool bf16 = false;
};

/// Of each line: its largest element, the sum of exp(x - largest), and, unless null, the sum of x.
TW_SIMD_FUNCTION(softmax_sums, (const Lines& lines, const void* x, float* largest, float* sum, float* total),
                 (lines, x, largest, sum, total));
/// y = exp(x - middle) * factor + offset, each vector with an element per line.
TW_SIMD_FUNCTION(softmax_apply,
                 (const Lines& lines, const void* x, const float* middle, const float* factor, const float* offset,
                  void* y),
                 (lines, x, middle, factor, offset, y));
/// y = x - middle
TW_SIMD_FUNCTION(softmax_shift, (const Lines& lines, const void* x, const float* middle, void* y),
                 (lines, x, middle, y));
/// dx = y * (dy - sum(dy * y)); for the logarithm dx = dy - exp(y) * sum(dy)
TW_SIMD_FUNCTION(softmax_grad, (const Lines& lines, const void* dy, const void* y, void* dx, bool logarithm),
                 (lines, dy, y, dx, logarithm));

}  // namespace thalweg::simd
