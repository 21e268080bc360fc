// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/layer_norm.h"

#include "runtime/kernels/simd/vec.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

template <typename T>
struct RowSum {
  const T* x;
  LineSum sum;
  template <typename V>
  void part(int64_t i) {
    sum.add(load<V>(x + i));
  }
};

/// Around the mean: exact where the mean is large.
template <typename T>
struct RowSquares {
  const T* x;
  float mean;
  LineSum sum;
  template <typename V>
  void part(int64_t i) {
    const V centred = load<V>(x + i) - mean;
    sum.add(centred * centred);
  }
};

template <typename T>
struct RowApply {
  const T* x;
  const float* scale;
  const float* shift;
  T* y;
  float mean, rstd;
  template <typename V>
  void part(int64_t i) {
    V value = (load<V>(x + i) - mean) * rstd;
    if (scale != nullptr) value *= load<V>(scale + i);
    if (shift != nullptr) value += load<V>(shift + i);
    store(y + i, value);
  }
};

template <typename T>
void forward(const LayerNormForward& call) {
  const auto columns = static_cast<float>(call.columns);
  for (int64_t row = 0; row < call.rows; ++row) {
    const T* x = static_cast<const T*>(call.x) + row * call.columns;
    RowSum<T> sum{x, {}};
    each_part(call.columns, sum);
    const float mean = sum.sum.total() / columns;
    RowSquares<T> squares{x, mean, {}};
    each_part(call.columns, squares);
    const float variance = squares.sum.total() / columns;
    RowApply<T> apply{x,          call.scale,
                      call.shift, static_cast<T*>(call.y) + row * call.columns,
                      mean,       1.0f / __builtin_sqrtf(variance + call.epsilon)};
    each_part(call.columns, apply);
    call.mean[row] = mean;
    call.variance[row] = variance;
  }
}

template <typename T>
struct RowGradientSums {
  const T* dy;
  const T* x;
  const float* scale;
  float* dscale;
  float* dshift;
  float mean, rstd;
  LineSum sum, product;
  template <typename V>
  void part(int64_t i) {
    const V normal = (load<V>(x + i) - mean) * rstd;
    V g = load<V>(dy + i);
    store(dscale + i, load<V>(dscale + i) + g * normal);
    store(dshift + i, load<V>(dshift + i) + g);
    if (scale != nullptr) g *= load<V>(scale + i);
    sum.add(g);
    product.add(g * normal);
  }
};

template <typename T>
struct RowGradient {
  const T* dy;
  const T* x;
  const float* scale;
  T* dx;
  float mean, rstd, sum_share, product_share;
  template <typename V>
  void part(int64_t i) {
    const V normal = (load<V>(x + i) - mean) * rstd;
    V g = load<V>(dy + i);
    if (scale != nullptr) g *= load<V>(scale + i);
    store(dx + i, (g - sum_share - normal * product_share) * rstd);
  }
};

template <typename T>
void backward(const LayerNormBackward& call) {
  const auto columns = static_cast<float>(call.columns);
  for (int64_t row = 0; row < call.rows; ++row) {
    const T* dy = static_cast<const T*>(call.dy) + row * call.columns;
    const T* x = static_cast<const T*>(call.x) + row * call.columns;
    const float mean = call.mean[row];
    const float rstd = 1.0f / __builtin_sqrtf(call.variance[row] + call.epsilon);
    RowGradientSums<T> sums{dy, x, call.scale, call.dscale, call.dshift, mean, rstd, {}, {}};
    each_part(call.columns, sums);
    RowGradient<T> gradient{dy,
                            x,
                            call.scale,
                            static_cast<T*>(call.dx) + row * call.columns,
                            mean,
                            rstd,
                            sums.sum.total() / columns,
                            sums.product.total() / columns};
    each_part(call.columns, gradient);
  }
}

}  // namespace

void layer_norm(const LayerNormForward& call) {
  if (call.bf16) return forward<uint16_t>(call);
  forward<float>(call);
}

void layer_norm_gradient(const LayerNormBackward& call) {
  if (call.bf16) return backward<uint16_t>(call);
  backward<float>(call);
}

}  // namespace thalweg::simd::TW_SIMD_NS
