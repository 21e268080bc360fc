// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Where the elements of one channel of [N, C, ...] lie.
struct Channels {
  int64_t batch, channels, spatial;

  explicit Channels(const Shape& shape)
      : batch(shape[0]), channels(shape[1]), spatial(shape.num_elements(2, shape.rank())) {}
  int64_t count() const { return batch * spatial; }

  template <typename F>
  void each(int64_t channel, F function) const {
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t begin = (n * channels + channel) * spatial;
      for (int64_t i = begin; i < begin + spatial; ++i) function(i);
    }
  }
};

/// Statistics are f32 or f64.
double get(const Tensor& tensor, int64_t index) {
  return tensor.dtype() == DType::kF64 ? tensor.data<double>()[index]
                                       : static_cast<double>(tensor.data<float>()[index]);
}

void put(const Tensor& tensor, int64_t index, double value) {
  if (tensor.dtype() == DType::kF64) {
    tensor.data<double>()[index] = value;
  } else {
    tensor.data<float>()[index] = static_cast<float>(value);
  }
}

double reciprocal_deviation(const ReferenceCall& call, double variance) {
  return 1 / std::sqrt(variance + call.attrs().real("epsilon"));
}

void batch_norm(const ReferenceCall& call) {
  const Channels layout(call.in(0).shape());
  const bool relu = call.attrs().text("activation") == op::kRelu;
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    const T* residual = call.has(3) ? call.in(3).data<T>() : nullptr;
    T* y = call.out(0).data<T>();
    const auto count = static_cast<double>(std::max<int64_t>(1, layout.count()));
    for (int64_t c = 0; c < layout.channels; ++c) {
      double mean = 0, variance = 0;
      layout.each(c, [&](int64_t i) { mean += static_cast<double>(x[i]) / count; });
      layout.each(c, [&](int64_t i) { variance += (x[i] - mean) * (x[i] - mean) / count; });
      const double factor = get(call.in(1), c) * reciprocal_deviation(call, variance);
      layout.each(c, [&](int64_t i) {
        double value = (x[i] - mean) * factor + get(call.in(2), c);
        if (residual != nullptr) value += static_cast<double>(residual[i]);
        y[i] = static_cast<T>(relu && value < 0 ? 0 : value);
      });
      put(call.out(1), c, mean);
      put(call.out(2), c, variance);
    }
  });
}

void batch_norm_inference(const ReferenceCall& call) {
  const Channels layout(call.in(0).shape());
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    T* y = call.out().data<T>();
    for (int64_t c = 0; c < layout.channels; ++c) {
      const double factor = get(call.in(1), c) * reciprocal_deviation(call, get(call.in(4), c));
      layout.each(c,
                  [&](int64_t i) { y[i] = static_cast<T>((x[i] - get(call.in(3), c)) * factor + get(call.in(2), c)); });
    }
  });
}

/// dy (+ dy2) where the rectifier let the value pass.
template <typename T>
std::vector<double> masked_gradient(const ReferenceCall& call, const Channels& layout, int64_t channel, double rstd) {
  std::vector<double> result;
  result.reserve(static_cast<size_t>(layout.count()));
  const double mean = get(call.in(3), channel);
  const double factor = get(call.in(2), channel) * rstd;
  layout.each(channel, [&](int64_t i) {
    bool passed = true;
    if (call.has(6)) {
      passed = call.in(6).data<T>()[i] > 0;
    } else if (call.has(5)) {
      passed = (call.in(1).data<T>()[i] - mean) * factor + get(call.in(5), channel) > 0;
    }
    double g = static_cast<double>(call.in(0).data<T>()[i]);
    if (call.has(7)) g += static_cast<double>(call.in(7).data<T>()[i]);
    result.push_back(passed ? g : 0);
  });
  return result;
}

template <typename T>
void channel_gradient(const ReferenceCall& call, const Channels& layout, int64_t c) {
  const T* x = call.in(1).data<T>();
  const double mean = get(call.in(3), c);
  const double rstd = reciprocal_deviation(call, get(call.in(4), c));
  const std::vector<double> gradient = masked_gradient<T>(call, layout, c, rstd);
  double dshift = 0, dscale = 0;
  size_t k = 0;
  layout.each(c, [&](int64_t i) {
    const double g = gradient[k++];
    dshift += g;
    dscale += g * (x[i] - mean) * rstd;
  });
  const bool frozen = call.attrs().flag("frozen");
  const double share = frozen ? 0 : 1 / static_cast<double>(std::max<int64_t>(1, layout.count()));
  k = 0;
  layout.each(c, [&](int64_t i) {
    const double g = gradient[k++];
    const double normal = (x[i] - mean) * rstd;
    call.out(0).data<T>()[i] =
        static_cast<T>(get(call.in(2), c) * rstd * (g - share * dshift - share * normal * dscale));
    if (call.outputs.size() > 3) call.out(3).data<T>()[i] = static_cast<T>(g);
  });
  put(call.out(1), c, dscale);
  put(call.out(2), c, dshift);
}

void batch_norm_grad(const ReferenceCall& call) {
  const Channels layout(call.in(1).shape());
  dispatch_real(call.in(1).dtype(), [&](auto tag) {
    for (int64_t c = 0; c < layout.channels; ++c) channel_gradient<decltype(tag)>(call, layout, c);
  });
}

const RegisterReference kBatchNorm(op::kBatchNorm, batch_norm);
const RegisterReference kBatchNormInference(op::kBatchNormInference, batch_norm_inference);
const RegisterReference kBatchNormGrad(op::kBatchNormGrad, batch_norm_grad);

}  // namespace
}  // namespace thalweg
