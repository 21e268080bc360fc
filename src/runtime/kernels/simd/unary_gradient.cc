// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/elementwise.h"
#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int64_t kTile = 512;
constexpr float kSeluAlpha = 1.67326324f;
constexpr float kSeluScale = 1.05070099f;

template <typename F>
inline void chain_floats(const float* dy, const float* saved, float* dx, int64_t count, F derivative) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * derivative(saved[i]);
}

/// dx = dy * derivative(saved)
template <typename F>
void chain(const UnaryCall& call, F derivative) {
  if (!call.bf16) {
    return chain_floats(static_cast<const float*>(call.dy), static_cast<const float*>(call.x),
                        static_cast<float*>(call.y), call.count, derivative);
  }
  const auto* dy = static_cast<const uint16_t*>(call.dy);
  const auto* saved = static_cast<const uint16_t*>(call.x);
  auto* dx = static_cast<uint16_t*>(call.y);
  float tile[kTile], gradient[kTile];
  for (int64_t first = 0; first < call.count; first += kTile) {
    const int64_t count = call.count - first < kTile ? call.count - first : kTile;
    for (int64_t i = 0; i < count; ++i) tile[i] = bf16_to_float(saved[first + i]);
    for (int64_t i = 0; i < count; ++i) gradient[i] = bf16_to_float(dy[first + i]);
    chain_floats(gradient, tile, gradient, count, derivative);
    for (int64_t i = 0; i < count; ++i) dx[first + i] = float_to_bf16(gradient[i]);
  }
}

inline float gelu_derivative(float x) {
  const float density = 0.398942280f * fast_exp(-0.5f * x * x);
  return 0.5f * (1.0f + fast_erf(x * 0.707106781f)) + x * density;
}

inline float gelu_tanh_derivative(float x) {
  const float t = fast_tanh(0.797884561f * (x + 0.044715f * x * x * x));
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.797884561f * (1.0f + 0.134145f * x * x);
}

inline float silu_derivative(float x) {
  const float s = fast_sigmoid(x);
  return s * (1.0f + x * (1.0f - s));
}

inline float mish_derivative(float x) {
  const float e = fast_exp(x > 20.0f ? 20.0f : x);
  const float n = e * (e + 2.0f);
  const float t = n / (n + 2.0f);
  return t + x * (1.0f - t * t) * fast_sigmoid(x);
}

inline float hard_swish_derivative(float x) { return x <= -3.0f ? 0.0f : x >= 3.0f ? 1.0f : x / 3.0f + 0.5f; }

inline float square(float x) { return x * x; }

/// The functions made for networks. False if it is another one.
bool activation(const UnaryCall& call) {
  const float a = call.alpha, b = call.beta, inverse = 1.0f / call.alpha;
  switch (call.function) {
    case Function::kRelu: chain(call, [](float y) { return y > 0.0f ? 1.0f : 0.0f; }); break;
    case Function::kLeakyRelu: chain(call, [=](float x) { return x > 0.0f ? 1.0f : a; }); break;
    case Function::kElu: chain(call, [=](float x) { return x > 0.0f ? 1.0f : a * fast_exp(x); }); break;
    case Function::kSelu:
      chain(call, [](float x) { return kSeluScale * (x > 0.0f ? 1.0f : kSeluAlpha * fast_exp(x)); });
      break;
    case Function::kCelu: chain(call, [=](float x) { return x > 0.0f ? 1.0f : fast_exp(x * inverse); }); break;
    case Function::kGelu: chain(call, [](float x) { return gelu_derivative(x); }); break;
    case Function::kGeluTanh: chain(call, [](float x) { return gelu_tanh_derivative(x); }); break;
    case Function::kSilu: chain(call, [](float x) { return silu_derivative(x); }); break;
    case Function::kMish: chain(call, [](float x) { return mish_derivative(x); }); break;
    case Function::kSigmoid: chain(call, [](float y) { return y * (1.0f - y); }); break;
    case Function::kLogSigmoid: chain(call, [](float x) { return fast_sigmoid(-x); }); break;
    case Function::kHardSigmoid:
      chain(call, [=](float x) { return a * x + b > 0.0f && a * x + b < 1.0f ? a : 0.0f; });
      break;
    case Function::kHardSwish: chain(call, [](float x) { return hard_swish_derivative(x); }); break;
    case Function::kTanh: chain(call, [](float y) { return 1.0f - y * y; }); break;
    case Function::kSoftplus: chain(call, [=](float x) { return fast_sigmoid(a * x); }); break;
    case Function::kSoftsign: chain(call, [](float x) { return 1.0f / square(1.0f + std::fabs(x)); }); break;
    case Function::kHardShrink:
    case Function::kSoftShrink: chain(call, [=](float x) { return std::fabs(x) > a ? 1.0f : 0.0f; }); break;
    case Function::kTanhShrink: chain(call, [](float x) { return square(fast_tanh(x)); }); break;
    case Function::kThreshold: chain(call, [=](float x) { return x > a ? 1.0f : 0.0f; }); break;
    case Function::kClip: chain(call, [=](float x) { return x > a && x < b ? 1.0f : 0.0f; }); break;
    default: return false;
  }
  return true;
}

void elementary(const UnaryCall& call) {
  switch (call.function) {
    case Function::kExp: return chain(call, [](float y) { return y; });
    case Function::kLog: return chain(call, [](float x) { return 1.0f / x; });
    case Function::kSqrt: return chain(call, [](float y) { return 0.5f / y; });
    case Function::kRsqrt: return chain(call, [](float y) { return -0.5f * y * y * y; });
    case Function::kSquare: return chain(call, [](float x) { return 2.0f * x; });
    case Function::kReciprocal: return chain(call, [](float y) { return -y * y; });
    case Function::kAbs: return chain(call, [](float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; });
    case Function::kErf: return chain(call, [](float x) { return 1.12837917f * fast_exp(-x * x); });
    case Function::kSin: return chain(call, [](float x) { return __builtin_cosf(x); });
    case Function::kCos: return chain(call, [](float x) { return -__builtin_sinf(x); });
    case Function::kTan: return chain(call, [](float y) { return 1.0f + y * y; });
    case Function::kAsin: return chain(call, [](float x) { return 1.0f / __builtin_sqrtf(1.0f - x * x); });
    case Function::kAcos: return chain(call, [](float x) { return -1.0f / __builtin_sqrtf(1.0f - x * x); });
    case Function::kAtan: return chain(call, [](float x) { return 1.0f / (1.0f + x * x); });
    case Function::kSinh: return chain(call, [](float x) { return __builtin_coshf(x); });
    case Function::kCosh: return chain(call, [](float x) { return __builtin_sinhf(x); });
    case Function::kAsinh: return chain(call, [](float x) { return 1.0f / __builtin_sqrtf(x * x + 1.0f); });
    case Function::kAcosh: return chain(call, [](float x) { return 1.0f / __builtin_sqrtf(x * x - 1.0f); });
    case Function::kAtanh: return chain(call, [](float x) { return 1.0f / (1.0f - x * x); });
    default: return;
  }
}

}  // namespace

void unary_gradient(const UnaryCall& call) {
  if (!activation(call)) elementary(call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
