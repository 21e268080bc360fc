// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Contiguous rows, each normalised by its own statistics. Activations are f32 or bf16, all else f32.
struct LayerNormForward {
  int64_t rows = 0, columns = 0;
  bool bf16 = false;
  float epsilon = 0.0f;
  const void* x = nullptr;
  const float* scale = nullptr;  ///< null: 1
  const float* shift = nullptr;  ///< null: 0
  void* y = nullptr;
  float* mean = nullptr;
  float* variance = nullptr;
};
TW_SIMD_FUNCTION(layer_norm, (const LayerNormForward& call), (call));

struct LayerNormBackward {
  int64_t rows = 0, columns = 0;
  bool bf16 = false;
  float epsilon = 0.0f;
  const void* dy = nullptr;
  const void* x = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  const float* scale = nullptr;  ///< null: 1
  void* dx = nullptr;
  /// Sums over the rows, added to what is there.
  float* dscale = nullptr;
  float* dshift = nullptr;
};
TW_SIMD_FUNCTION(layer_norm_gradient, (const LayerNormBackward& call), (call));

}  // namespace thalweg::simd
