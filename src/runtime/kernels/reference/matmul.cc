// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0

#include "ops/broadcast_index.h"
#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

Shape leading(const Shape& shape) { return Shape(std::vector<int64_t>(shape.begin(), shape.end() - 2)); }

void matmul(const ReferenceCall& call) {
  const Shape& a = call.in(0).shape();
  const Shape& b = call.in(1).shape();
  const Shape& y = call.out().shape();
  const bool ta = call.attrs().flag("transpose_a");
  const bool tb = call.attrs().flag("transpose_b");
  const int64_t rows = y[-2], columns = y[-1], inner = ta ? a[-2] : a[-1];
  const BroadcastIndex batch_a(leading(a), leading(y));
  const BroadcastIndex batch_b(leading(b), leading(y));
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const int64_t batches = leading(y).num_elements();
    for (int64_t batch = 0; batch < batches; ++batch) {
      const T* left = call.in(0).data<T>() + batch_a(batch) * rows * inner;
      const T* right = call.in(1).data<T>() + batch_b(batch) * inner * columns;
      T* out = call.out().data<T>() + batch * rows * columns;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k) {
            sum += static_cast<double>(left[ta ? k * rows + i : i * inner + k]) *
                   static_cast<double>(right[tb ? j * inner + k : k * columns + j]);
          }
          out[i * columns + j] = static_cast<T>(sum);
        }
      }
    }
  });
}

void linear(const ReferenceCall& call) {
  const int64_t inputs = call.in(1).shape()[1];
  const int64_t outputs = call.in(1).shape()[0];
  const int64_t rows = outputs > 0 ? call.out().num_elements() / outputs : 0;
  const UnaryCallee activation = fused_activation(call.attrs());
  const FusedAffine affine = fused_affine(call.attrs());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    const T* weight = call.in(1).data<T>();
    const Tensor bias = call.has(2) ? call.in(2).to(call.out().dtype()) : Tensor();
    T* y = call.out().data<T>();
    for (int64_t i = 0; i < rows * outputs; ++i) {
      const int64_t row = i / outputs, o = i % outputs;
      double sum = bias.defined() ? static_cast<double>(bias.data<T>()[o]) : 0.0;
      for (int64_t k = 0; k < inputs; ++k) {
        sum += static_cast<double>(x[row * inputs + k]) * static_cast<double>(weight[o * inputs + k]);
      }
      y[i] = static_cast<T>(finished(activation, affine, sum));
    }
  });
}

void linear_grad_weights(const ReferenceCall& call) {
  const int64_t outputs = call.in(0).shape()[-1];
  const int64_t inputs = call.in(1).shape()[-1];
  const int64_t rows = outputs > 0 ? call.in(0).num_elements() / outputs : 0;
  const bool bias = call.outputs.size() > 1;
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Tensor dy = call.in(0).to(dtype_of<T>);
    const Tensor x = call.in(1).to(dtype_of<T>);
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (int64_t r = 0; r < rows; ++r) {
          sum += static_cast<double>(dy.data<T>()[r * outputs + o]) * static_cast<double>(x.data<T>()[r * inputs + i]);
        }
        call.out(0).data<T>()[o * inputs + i] = static_cast<T>(sum);
      }
      if (!bias) continue;
      double sum = 0;
      for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(dy.data<T>()[r * outputs + o]);
      call.out(1).data<T>()[o] = static_cast<T>(sum);
    }
  });
}

const RegisterReference kMatmul(op::kMatmul, matmul);
const RegisterReference kLinear(op::kLinear, linear);
const RegisterReference kLinearGradWeights(op::kLinearGradWeights, linear_grad_weights);

}  // namespace
}  // namespace thalweg
