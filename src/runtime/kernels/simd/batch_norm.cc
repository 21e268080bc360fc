// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/batch_norm.h"

#include <immintrin.h>

#include "runtime/kernels/simd/channel_rows.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

/// Streaming stores pay only where one store, or the next ones, fill a cache line.
template <typename T>
bool can_stream(const Grid& grid, const void* to) {
  constexpr size_t kBytes = kLanes * sizeof(T);
  if (kLanes == 4 || reinterpret_cast<uintptr_t>(to) % kBytes != 0 || grid.columns % kLanes != 0) return false;
  return kBytes == 64 || grid.columns == kLanes;
}

template <bool kStream, typename V, typename T>
inline void put(T* to, V value) {
#if defined(__AVX512F__)
  if constexpr (kStream && sizeof(V) == 64 && sizeof(T) == 4)
    return _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
  if constexpr (kStream && sizeof(V) == 64 && sizeof(T) == 2) {
    alignas(32) T narrow[kLanes];
    store(narrow, value);
    return _mm256_stream_si256(reinterpret_cast<__m256i*>(to), *reinterpret_cast<const __m256i*>(narrow));
  }
#elif defined(__AVX2__)
  if constexpr (kStream && sizeof(V) == 32 && sizeof(T) == 4)
    return _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
#endif
  store(to, value);
}

template <typename T>
struct SumsBody {
  const T* x;
  const float* pivot;
  ColumnSums* sums;
  int64_t ahead;

  template <typename V>
  void column(int64_t at, int64_t rows, int64_t stride, int64_t c) const {
    const V middle = load<V>(pivot + c);
    float* sum = sums->a + (c - sums->first);
    float* squares = sums->b + (c - sums->first);
    V s0 = load<V>(sum), q0 = load<V>(squares), s1{}, q1{};
    const T* from = x + at;
    for (; rows >= 2; rows -= 2, from += 2 * stride) {
      __builtin_prefetch(from + ahead);
      __builtin_prefetch(from + ahead + stride);
      const V d0 = load<V>(from) - middle;
      const V d1 = load<V>(from + stride) - middle;
      s0 += d0;
      s1 += d1;
      q0 += d0 * d0;
      q1 += d1 * d1;
    }
    if (rows > 0) {
      const V d = load<V>(from) - middle;
      s0 += d;
      q0 += d * d;
    }
    store(sum, s0 + s1);
    store(squares, q0 + q1);
  }
};

template <typename T, bool kStream>
struct ApplyBody {
  const T* x;
  const T* residual;
  T* y;
  const float* mean;
  const float* factor;
  const float* shift;
  bool relu;

  template <typename V>
  void column(int64_t at, int64_t rows, int64_t stride, int64_t c) const {
    const V m = load<V>(mean + c), f = load<V>(factor + c), s = load<V>(shift + c);
    // Without relu the lower bound does nothing; NaN passes both.
    const V floor = splat<V>(relu ? 0.0f : -__builtin_inff());
    for (int64_t r = 0; r < rows; ++r, at += stride) {
      V value = (load<V>(x + at) - m) * f + s;
      if (residual != nullptr) value += load<V>(residual + at);
      put<kStream>(y + at, value < floor ? floor : value);
    }
  }
};

/// The gradient that reaches the normalisation: dy (+ dy2) where the rectifier let the value pass.
template <typename V, typename T, ReluMask kMask>
inline V masked_gradient(const BatchNormBackward& call, int64_t at, V centred, V factor, V shift) {
  V g = load<V>(static_cast<const T*>(call.dy) + at);
  if (call.dy2 != nullptr) g += load<V>(static_cast<const T*>(call.dy2) + at);
  if constexpr (kMask == ReluMask::kFromX) g = where_positive(centred * factor + shift, g);
  if constexpr (kMask == ReluMask::kFromY) g = where_positive(load<V>(static_cast<const T*>(call.y) + at), g);
  return g;
}

template <typename T, ReluMask kMask>
struct GradSumsBody {
  const BatchNormBackward& call;
  const float* mean;
  const float* factor;
  const float* shift;
  ColumnSums* sums;
  int64_t ahead;

  template <typename V>
  void column(int64_t at, int64_t rows, int64_t stride, int64_t c) const {
    const V m = load<V>(mean + c), f = load<V>(factor + c);
    const V s = kMask == ReluMask::kFromX ? load<V>(shift + c) : V{};
    float* sum = sums->a + (c - sums->first);
    float* products = sums->b + (c - sums->first);
    V total = load<V>(sum), product = load<V>(products);
    const T* x = static_cast<const T*>(call.x);
    T* keep = static_cast<T*>(call.masked_dy);
    for (int64_t r = 0; r < rows; ++r, at += stride) {
      __builtin_prefetch(x + at + ahead);
      __builtin_prefetch(static_cast<const T*>(call.dy) + at + ahead);
      const V centred = load<V>(x + at) - m;
      const V g = masked_gradient<V, T, kMask>(call, at, centred, f, s);
      if (keep != nullptr) store(keep + at, g);
      total += g;
      product += g * centred;
    }
    store(sum, total);
    store(products, product);
  }
};

template <typename T, ReluMask kMask, bool kStream>
struct GradApplyBody {
  const BatchNormBackward& call;
  const float* mean;
  const float* factor;
  const float* shift;
  const float* offset;
  const float* slope;

  template <typename V>
  void column(int64_t at, int64_t rows, int64_t stride, int64_t c) const {
    const V m = load<V>(mean + c), f = load<V>(factor + c), o = load<V>(offset + c), k = load<V>(slope + c);
    const V s = kMask == ReluMask::kFromX ? load<V>(shift + c) : V{};
    const T* x = static_cast<const T*>(call.x);
    T* dx = static_cast<T*>(call.dx);
    for (int64_t r = 0; r < rows; ++r, at += stride) {
      const V centred = load<V>(x + at) - m;
      const V g = masked_gradient<V, T, kMask>(call, at, centred, f, s);
      put<kStream>(dx + at, g * f + (centred * k + o));
    }
  }
};

template <typename T>
void sums_of(const ChannelRows& piece, const void* x, const float* pivot, double* sum, double* squares) {
  const Grid grid = grid_of(piece);
  const PerColumn pivots(grid, piece, pivot);
  ColumnSums sums;
  walk_summing(grid, piece, sums, SumsBody<T>{static_cast<const T*>(x), pivots.data(), &sums, piece.ahead}, sum,
               squares);
}

template <typename T>
void apply(const ChannelRows& piece, const BatchNormForward& call) {
  const Grid grid = grid_of(piece);
  const PerColumn mean(grid, piece, call.mean), factor(grid, piece, call.factor), shift(grid, piece, call.shift);
  const auto* x = static_cast<const T*>(call.x);
  const auto* residual = static_cast<const T*>(call.residual);
  auto* y = static_cast<T*>(call.y);
  if (call.stream && can_stream<T>(grid, y)) {
    walk_all(grid, ApplyBody<T, true>{x, residual, y, mean.data(), factor.data(), shift.data(), call.relu});
    _mm_sfence();
  } else {
    walk_all(grid, ApplyBody<T, false>{x, residual, y, mean.data(), factor.data(), shift.data(), call.relu});
  }
}

template <typename T, ReluMask kMask>
void grad_sums(const ChannelRows& piece, const BatchNormBackward& call, double* sum, double* products) {
  const Grid grid = grid_of(piece);
  const PerColumn mean(grid, piece, call.mean), factor(grid, piece, call.factor), shift(grid, piece, call.shift);
  ColumnSums sums;
  const GradSumsBody<T, kMask> body{call, mean.data(), factor.data(), shift.data(), &sums, piece.ahead};
  walk_summing(grid, piece, sums, body, sum, products);
}

template <typename T, ReluMask kMask>
void grad_apply(const ChannelRows& piece, const BatchNormBackward& call) {
  const Grid grid = grid_of(piece);
  const PerColumn mean(grid, piece, call.mean), factor(grid, piece, call.factor), shift(grid, piece, call.shift);
  const PerColumn offset(grid, piece, call.offset), slope(grid, piece, call.slope);
  if (call.stream && can_stream<T>(grid, call.dx)) {
    walk_all(grid, GradApplyBody<T, kMask, true>{call, mean.data(), factor.data(), shift.data(), offset.data(),
                                                 slope.data()});
    _mm_sfence();
  } else {
    walk_all(grid, GradApplyBody<T, kMask, false>{call, mean.data(), factor.data(), shift.data(), offset.data(),
                                                  slope.data()});
  }
}

template <typename T>
void grad_sums_of(const ChannelRows& piece, const BatchNormBackward& call, double* sum, double* products) {
  switch (call.mask) {
    case ReluMask::kNone: return grad_sums<T, ReluMask::kNone>(piece, call, sum, products);
    case ReluMask::kFromX: return grad_sums<T, ReluMask::kFromX>(piece, call, sum, products);
    case ReluMask::kFromY: return grad_sums<T, ReluMask::kFromY>(piece, call, sum, products);
  }
}

template <typename T>
void grad_apply_of(const ChannelRows& piece, const BatchNormBackward& call) {
  switch (call.mask) {
    case ReluMask::kNone: return grad_apply<T, ReluMask::kNone>(piece, call);
    case ReluMask::kFromX: return grad_apply<T, ReluMask::kFromX>(piece, call);
    case ReluMask::kFromY: return grad_apply<T, ReluMask::kFromY>(piece, call);
  }
}

}  // namespace

void batch_norm_sums(const ChannelRows& piece, const void* x, const float* pivot, double* sum, double* squares) {
  if (piece.bf16) return sums_of<uint16_t>(piece, x, pivot, sum, squares);
  sums_of<float>(piece, x, pivot, sum, squares);
}

void batch_norm_apply(const ChannelRows& piece, const BatchNormForward& call) {
  if (piece.bf16) return apply<uint16_t>(piece, call);
  apply<float>(piece, call);
}

void batch_norm_grad_sums(const ChannelRows& piece, const BatchNormBackward& call, double* sum, double* products) {
  if (piece.bf16) return grad_sums_of<uint16_t>(piece, call, sum, products);
  grad_sums_of<float>(piece, call, sum, products);
}

void batch_norm_grad_apply(const ChannelRows& piece, const BatchNormBackward& call) {
  if (piece.bf16) return grad_apply_of<uint16_t>(piece, call);
  grad_apply_of<float>(piece, call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
