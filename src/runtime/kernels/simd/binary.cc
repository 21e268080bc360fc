// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/elementwise.h"
#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

inline float widen(float value) { return value; }
inline float widen(uint16_t value) { return bf16_to_float(value); }
inline void narrow(float value, float* to) { *to = value; }
inline void narrow(float value, uint16_t* to) { *to = float_to_bf16(value); }

template <typename T, typename F>
void combine(const BinaryCall& call, F function) {
  const auto* a = static_cast<const T*>(call.a);
  const auto* b = static_cast<const T*>(call.b);
  auto* y = static_cast<T*>(call.y);
  if (call.a_is_one) {
    const float left = widen(*a);
    const int64_t step = call.b_is_one ? 0 : 1;
#pragma GCC ivdep
    for (int64_t i = 0; i < call.count; ++i) narrow(function(left, widen(b[i * step])), y + i);
  } else if (call.b_is_one) {
    const float right = widen(*b);
#pragma GCC ivdep
    for (int64_t i = 0; i < call.count; ++i) narrow(function(widen(a[i]), right), y + i);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < call.count; ++i) narrow(function(widen(a[i]), widen(b[i])), y + i);
  }
}

/// The rest that has the sign of `a` if `truncated`, else that of `b`.
inline float exact_rest(float a, float b, bool truncated) {
  const float rest = __builtin_fmodf(a, b);
  return !truncated && rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}

/// In double precision quotients of so few bits are exact, and so are the rests; all others are computed bit by bit.
template <typename T>
void rests(const BinaryCall& call, bool truncated) {
  constexpr int64_t kPiece = 256;
  constexpr double kMostExact = 268435456.0;
  const auto* a = static_cast<const T*>(call.a);
  const auto* b = static_cast<const T*>(call.b);
  auto* y = static_cast<T*>(call.y);
  float left[kPiece], right[kPiece], rest[kPiece];
  for (int64_t first = 0; first < call.count; first += kPiece) {
    const int64_t count = call.count - first < kPiece ? call.count - first : kPiece;
    for (int64_t i = 0; i < count; ++i) left[i] = widen(a[call.a_is_one ? 0 : first + i]);
    for (int64_t i = 0; i < count; ++i) right[i] = widen(b[call.b_is_one ? 0 : first + i]);
    int inexact = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double quotient = static_cast<double>(left[i]) / static_cast<double>(right[i]);
      const double whole = truncated ? __builtin_trunc(quotient) : __builtin_floor(quotient);
      rest[i] = static_cast<float>(static_cast<double>(left[i]) - whole * static_cast<double>(right[i]));
      inexact |= (quotient < kMostExact && quotient > -kMostExact && right[i] - right[i] == 0.0f) ? 0 : 1;
    }
    if (inexact != 0) {
      for (int64_t i = 0; i < count; ++i) rest[i] = exact_rest(left[i], right[i], truncated);
    }
    for (int64_t i = 0; i < count; ++i) narrow(rest[i], y + first + i);
  }
}

template <typename T>
void binary_of(const BinaryCall& call) {
  switch (call.function) {
    case BinaryFunction::kAdd: return combine<T>(call, [](float a, float b) { return a + b; });
    case BinaryFunction::kSub: return combine<T>(call, [](float a, float b) { return a - b; });
    case BinaryFunction::kMul: return combine<T>(call, [](float a, float b) { return a * b; });
    case BinaryFunction::kDiv: return combine<T>(call, [](float a, float b) { return a / b; });
    // A NaN on either side gives NaN.
    case BinaryFunction::kMinimum: return combine<T>(call, [](float a, float b) { return b < a || b != b ? b : a; });
    case BinaryFunction::kMaximum: return combine<T>(call, [](float a, float b) { return a < b || b != b ? b : a; });
    case BinaryFunction::kPrelu: return combine<T>(call, [](float a, float b) { return a > 0.0f ? a : a * b; });
    case BinaryFunction::kPow: return combine<T>(call, [](float a, float b) { return __builtin_powf(a, b); });
    case BinaryFunction::kModulo: return rests<T>(call, false);
    case BinaryFunction::kModuloTruncated: return rests<T>(call, true);
  }
}

}  // namespace

void binary(const BinaryCall& call) {
  if (call.bf16) return binary_of<uint16_t>(call);
  binary_of<float>(call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
