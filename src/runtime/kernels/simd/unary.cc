// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/elementwise.h"
#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int64_t kTile = 512;
constexpr float kSeluAlpha = 1.67326324f;
constexpr float kSeluScale = 1.05070099f;

template <typename F>
inline void map_floats(const float* x, float* y, int64_t count, F function) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

template <typename F>
void map(const UnaryCall& call, F function) {
  if (!call.bf16)
    return map_floats(static_cast<const float*>(call.x), static_cast<float*>(call.y), call.count, function);
  const auto* x = static_cast<const uint16_t*>(call.x);
  auto* y = static_cast<uint16_t*>(call.y);
  float tile[kTile];
  for (int64_t first = 0; first < call.count; first += kTile) {
    const int64_t count = call.count - first < kTile ? call.count - first : kTile;
    for (int64_t i = 0; i < count; ++i) tile[i] = bf16_to_float(x[first + i]);
    map_floats(tile, tile, count, function);
    for (int64_t i = 0; i < count; ++i) y[first + i] = float_to_bf16(tile[i]);
  }
}

inline float clamp(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/// tanh(softplus(x)) as a quotient of polynomials in e^x.
inline float mish_gate(float x) {
  const float e = fast_exp(x > 20.0f ? 20.0f : x);
  const float n = e * (e + 2.0f);
  return n / (n + 2.0f);
}

inline float gelu_tanh(float x) { return 0.5f * x * (1.0f + fast_tanh(0.797884561f * (x + 0.044715f * x * x * x))); }

/// Squaring half the exponential reaches infinity and zero, where fast_exp saturates.
inline float full_exp(float x) {
  const float half = fast_exp(0.5f * x);
  return half * half;
}

/// The functions made for networks. False if it is another one.
bool activation(const UnaryCall& call) {
  const float a = call.alpha, b = call.beta, inverse = 1.0f / call.alpha;
  switch (call.function) {
    case Function::kRelu: map(call, [](float x) { return x < 0.0f ? 0.0f : x; }); break;
    case Function::kLeakyRelu: map(call, [=](float x) { return x > 0.0f ? x : a * x; }); break;
    case Function::kElu: map(call, [=](float x) { return x > 0.0f ? x : a * fast_expm1(x); }); break;
    case Function::kSelu:
      map(call, [](float x) { return kSeluScale * (x > 0.0f ? x : kSeluAlpha * fast_expm1(x)); });
      break;
    case Function::kCelu: map(call, [=](float x) { return x > 0.0f ? x : a * fast_expm1(x * inverse); }); break;
    case Function::kGelu: map(call, [](float x) { return 0.5f * x * (1.0f + fast_erf(x * 0.707106781f)); }); break;
    case Function::kGeluTanh: map(call, [](float x) { return gelu_tanh(x); }); break;
    case Function::kSilu: map(call, [](float x) { return x * fast_sigmoid(x); }); break;
    case Function::kMish: map(call, [](float x) { return x * mish_gate(x); }); break;
    case Function::kSigmoid: map(call, [](float x) { return fast_sigmoid(x); }); break;
    case Function::kLogSigmoid: map(call, [](float x) { return -fast_softplus(-x); }); break;
    case Function::kHardSigmoid: map(call, [=](float x) { return clamp(a * x + b, 0.0f, 1.0f); }); break;
    case Function::kHardSwish: map(call, [](float x) { return x * clamp(x + 3.0f, 0.0f, 6.0f) / 6.0f; }); break;
    case Function::kTanh: map(call, [](float x) { return fast_tanh(x); }); break;
    case Function::kSoftplus: map(call, [=](float x) { return fast_softplus(a * x) / a; }); break;
    case Function::kSoftsign: map(call, [](float x) { return x / (1.0f + std::fabs(x)); }); break;
    case Function::kHardShrink: map(call, [=](float x) { return std::fabs(x) > a ? x : 0.0f; }); break;
    case Function::kSoftShrink: map(call, [=](float x) { return x > a ? x - a : x < -a ? x + a : 0.0f; }); break;
    case Function::kTanhShrink: map(call, [](float x) { return x - fast_tanh(x); }); break;
    case Function::kThreshold: map(call, [=](float x) { return x > a ? x : b; }); break;
    case Function::kClip: map(call, [=](float x) { return clamp(x, a, b); }); break;
    default: return false;
  }
  return true;
}

void elementary(const UnaryCall& call) {
  switch (call.function) {
    case Function::kExp: return map(call, [](float x) { return full_exp(x); });
    case Function::kLog: return map(call, [](float x) { return fast_log(x); });
    case Function::kSqrt: return map(call, [](float x) { return __builtin_sqrtf(x); });
    case Function::kRsqrt: return map(call, [](float x) { return 1.0f / __builtin_sqrtf(x); });
    case Function::kSquare: return map(call, [](float x) { return x * x; });
    case Function::kReciprocal: return map(call, [](float x) { return 1.0f / x; });
    case Function::kAbs: return map(call, [](float x) { return std::fabs(x); });
    case Function::kErf: return map(call, [](float x) { return fast_erf(x); });
    case Function::kSin: return map(call, [](float x) { return __builtin_sinf(x); });
    case Function::kCos: return map(call, [](float x) { return __builtin_cosf(x); });
    case Function::kTan: return map(call, [](float x) { return __builtin_tanf(x); });
    case Function::kAsin: return map(call, [](float x) { return __builtin_asinf(x); });
    case Function::kAcos: return map(call, [](float x) { return __builtin_acosf(x); });
    case Function::kAtan: return map(call, [](float x) { return __builtin_atanf(x); });
    case Function::kSinh: return map(call, [](float x) { return __builtin_sinhf(x); });
    case Function::kCosh: return map(call, [](float x) { return __builtin_coshf(x); });
    case Function::kAsinh: return map(call, [](float x) { return __builtin_asinhf(x); });
    case Function::kAcosh: return map(call, [](float x) { return __builtin_acoshf(x); });
    case Function::kAtanh: return map(call, [](float x) { return __builtin_atanhf(x); });
    case Function::kNeg: return map(call, [](float x) { return -x; });
    case Function::kSign: return map(call, [](float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; });
    case Function::kFloor: return map(call, [](float x) { return __builtin_floorf(x); });
    case Function::kCeil: return map(call, [](float x) { return __builtin_ceilf(x); });
    case Function::kRound: return map(call, [](float x) { return __builtin_rintf(x); });
    default: return;
  }
}

}  // namespace

void unary(const UnaryCall& call) {
  if (!activation(call)) elementary(call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
