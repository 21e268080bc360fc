// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Bytes are u8, or i8 where a flag says so. One scale and zero for all elements.
struct QuantizeCall {
  const float* x = nullptr;
  void* y = nullptr;
  bool is_signed = false;
  float scale = 1.0f;
  float zero = 0.0f;
  int64_t count = 0;
};
/// round(x / scale) + zero, cut to the range; what is not a number becomes 0.
TW_SIMD_FUNCTION(quantize, (const QuantizeCall& call), (call));

struct ValueRangeCall {
  const float* x = nullptr;
  int64_t count = 0;
  float* low = nullptr;   ///< 0, or the least element if that is less
  float* high = nullptr;  ///< 0, or the largest element if that is more
};
TW_SIMD_FUNCTION(value_range, (const ValueRangeCall& call), (call));

struct DequantizeCall {
  const void* x = nullptr;
  float* y = nullptr;
  bool is_signed = false;
  float scale = 1.0f;
  float zero = 0.0f;
  int64_t count = 0;
};
/// (x - zero) * scale.
TW_SIMD_FUNCTION(dequantize, (const DequantizeCall& call), (call));

struct QuantizedAddCall {
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  bool a_is_signed = false, b_is_signed = false, y_is_signed = false;
  float a_factor = 1.0f, b_factor = 1.0f, offset = 0.0f;
  float low = 0.0f, high = 0.0f;  ///< of the sum; within the range of the result
  int64_t count = 0;
};
/// round(clip(a * a_factor + b * b_factor + offset, low, high)).
TW_SIMD_FUNCTION(quantized_add, (const QuantizedAddCall& call), (call));

}  // namespace thalweg::simd
