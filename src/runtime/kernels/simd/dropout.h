// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Contiguous rows of elements whose row-major positions are first + row * row_step + column * column_step. The fields
/// of the mask are those of RandomMask.
struct DropoutCall {
  uint32_t mask_first = 0, mask_second = 0, threshold = 0;
  float scale = 1.0f;
  bool bf16 = false;
  const void* x = nullptr;
  void* y = nullptr;
  int64_t rows = 0, columns = 0;
  uint64_t first = 0;
  uint64_t row_step = 0, column_step = 1;
};
TW_SIMD_FUNCTION(dropout, (const DropoutCall& call), (call));

}  // namespace thalweg::simd
