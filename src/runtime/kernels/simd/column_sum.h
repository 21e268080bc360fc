// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// out[c] = sum over r of x[r * stride + c], for `columns` columns, rows added in order.
TW_SIMD_FUNCTION(column_sum, (const float* x, int64_t rows, int64_t columns, int64_t stride, float* out),
                 (x, rows, columns, stride, out));
/// The same for bf16 elements.
TW_SIMD_FUNCTION(column_sum_bf16, (const uint16_t* x, int64_t rows, int64_t columns, int64_t stride, float* out),
                 (x, rows, columns, stride, out));

}  // namespace thalweg::simd
