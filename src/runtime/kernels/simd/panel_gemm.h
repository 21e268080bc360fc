// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

// Small products inside a loop of one thread (a step of a recurrence, a head of attention), where calling a library
// for each would cost more than the product: the right side is packed once into panels and used many times.

/// A matrix read with any strides: element (row, column) is data[row * row_stride + column * column_stride].
struct MatrixView {
  const float* data;
  int64_t row_stride;
  int64_t column_stride;
};

/// Floats that a packed right side of k rows and n columns takes.
inline int64_t packed_size(int64_t k, int64_t n) { return k * ((n + 63) / 64 * 64); }

/// Packs b [k, n].
TW_SIMD_FUNCTION(pack_panels, (MatrixView b, int64_t k, int64_t n, float* packed), (b, k, n, packed));

/// c [m, n] = a [m, k] * b, or added to c if `accumulate`. c is row-major with `c_stride` floats from row to row.
TW_SIMD_FUNCTION(panel_gemm,
                 (MatrixView a, const float* packed, int64_t m, int64_t n, int64_t k, float* c, int64_t c_stride,
                  bool accumulate),
                 (a, packed, m, n, k, c, c_stride, accumulate));

}  // namespace thalweg::simd
