// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "runtime/kernels/reference/conv_products.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Row c of [N, C, ...] gets bias[c], or zero.
template <typename T>
void start_with_bias(const ReferenceCall& call, T* y) {
  const Shape& shape = call.out().shape();
  const int64_t plane = shape.num_elements(2, shape.rank());
  for (int64_t i = 0; i < call.out().num_elements(); ++i) {
    y[i] = call.has(2) ? call.in(2).data<T>()[i / plane % shape[1]] : T{0};
  }
}

/// What a pass fused into the node comes last.
template <typename T>
void finish(const ReferenceCall& call, T* y) {
  const UnaryCallee activation = fused_activation(call.attrs());
  const FusedAffine affine = fused_affine(call.attrs());
  for (int64_t i = 0; i < call.out().num_elements(); ++i) {
    y[i] = static_cast<T>(finished(activation, affine, static_cast<double>(y[i])));
  }
}

void conv(const ReferenceCall& call) {
  const Shape& shape = call.out().shape();
  const int64_t plane = shape.num_elements(2, shape.rank());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    const T* w = call.in(1).data<T>();
    T* y = call.out().data<T>();
    start_with_bias(call, y);
    for (int64_t i = 0; call.has(3) && i < call.out().num_elements(); ++i) y[i] += call.in(3).data<T>()[i];
    for_each_product(conv_geometry(call.node), [&](int64_t i, int64_t k, int64_t o) { y[o] += x[i] * w[k]; });
    for (int64_t i = 0; call.has(4) && i < call.out().num_elements(); ++i) {
      if (y[i] < 0) y[i] *= static_cast<T>(call.in(4).data<float>()[i / plane % shape[1]]);
    }
    finish(call, y);
  });
}

void grad_data(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* dy = call.in(0).data<T>();
    const T* w = call.in(1).data<T>();
    T* dx = call.out().data<T>();
    start_with_bias(call, dx);
    for_each_product(conv_geometry(call.node), [&](int64_t i, int64_t k, int64_t o) { dx[i] += dy[o] * w[k]; });
    finish(call, dx);
  });
}

void grad_weights(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* dy = call.in(0).data<T>();
    const T* x = call.in(1).data<T>();
    T* dw = call.out().data<T>();
    std::fill_n(dw, call.out().num_elements(), T{0});
    for_each_product(conv_geometry(call.node), [&](int64_t i, int64_t k, int64_t o) { dw[k] += dy[o] * x[i]; });
    if (call.outputs.size() < 2) return;
    T* db = call.out(1).data<T>();
    const int64_t channels = call.out(1).num_elements();
    std::fill_n(db, channels, T{0});
    const int64_t plane = call.in(0).shape().num_elements(2, call.in(0).shape().rank());
    for (int64_t i = 0; i < call.in(0).num_elements(); ++i) db[i / plane % channels] += dy[i];
  });
}

const RegisterReference kConv(op::kConv, conv);
const RegisterReference kGradData(op::kConvGradData, grad_data);
const RegisterReference kGradWeights(op::kConvGradWeights, grad_weights);
/// A transposed convolution is the data gradient of a convolution, plus a bias.
const RegisterReference kTranspose(op::kConvTranspose, grad_data);

}  // namespace
}  // namespace thalweg
