// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/quantize.h"

#include "runtime/kernels/simd/vec.h"

// What a loop reads of its call is copied first: bytes that it writes might be part of the call for all the compiler
// knows, and it would not vectorise.
namespace thalweg::simd::TW_SIMD_NS {
namespace {

inline float cut(float value, float low, float high) {
  // Comparisons with what is not a number are false: it becomes `low`.
  const float raised = value > low ? value : low;
  return raised < high ? raised : high;
}

template <typename T>
void quantize_to(const QuantizeCall& call, float low, float high) {
  const float* x = call.x;
  T* y = static_cast<T*>(call.y);
  const float scale = call.scale, zero = call.zero;
  const int64_t count = call.count;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float value = __builtin_rintf(x[i] / scale) + zero;
    y[i] = static_cast<T>(static_cast<int32_t>(cut(value == value ? value : 0.0f, low, high)));
  }
}

template <typename T>
void dequantize_from(const DequantizeCall& call) {
  const T* x = static_cast<const T*>(call.x);
  float* y = call.y;
  const float scale = call.scale, zero = call.zero;
  const int64_t count = call.count;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

template <typename A, typename B, typename Y>
void add(const QuantizedAddCall& call) {
  const A* a = static_cast<const A*>(call.a);
  const B* b = static_cast<const B*>(call.b);
  Y* y = static_cast<Y*>(call.y);
  const float fa = call.a_factor, fb = call.b_factor, offset = call.offset, low = call.low, high = call.high;
  const int64_t count = call.count;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float sum = static_cast<float>(a[i]) * fa + static_cast<float>(b[i]) * fb + offset;
    y[i] = static_cast<Y>(static_cast<int32_t>(__builtin_rintf(cut(sum, low, high))));
  }
}

template <typename A, typename B>
void add_to(const QuantizedAddCall& call) {
  call.y_is_signed ? add<A, B, int8_t>(call) : add<A, B, uint8_t>(call);
}

template <typename A>
void add_with(const QuantizedAddCall& call) {
  call.b_is_signed ? add_to<A, int8_t>(call) : add_to<A, uint8_t>(call);
}

}  // namespace

void quantize(const QuantizeCall& call) {
  call.is_signed ? quantize_to<int8_t>(call, -128.0f, 127.0f) : quantize_to<uint8_t>(call, 0.0f, 255.0f);
}

void value_range(const ValueRangeCall& call) {
  Vec lows{}, highs{};
  int64_t i = 0;
  for (; i + kLanes <= call.count; i += kLanes) {
    const Vec x = load<Vec>(call.x + i);
    lows = x < lows ? x : lows;
    highs = x > highs ? x : highs;
  }
  float low = 0.0f, high = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) {
    low = lows[lane] < low ? lows[lane] : low;
    high = highs[lane] > high ? highs[lane] : high;
  }
  for (; i < call.count; ++i) {
    low = call.x[i] < low ? call.x[i] : low;
    high = call.x[i] > high ? call.x[i] : high;
  }
  *call.low = low;
  *call.high = high;
}

void dequantize(const DequantizeCall& call) {
  call.is_signed ? dequantize_from<int8_t>(call) : dequantize_from<uint8_t>(call);
}

void quantized_add(const QuantizedAddCall& call) {
  call.a_is_signed ? add_with<int8_t>(call) : add_with<uint8_t>(call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
