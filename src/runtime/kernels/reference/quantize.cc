// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/ids.h"
#include "ops/quantized_result.h"
#include "runtime/kernels/reference/conv_products.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Which element of scale and zero belongs to each element of the input.
struct ParameterIndex {
  int64_t inner = 1, count = 1;

  explicit ParameterIndex(const ReferenceCall& call) {
    if (call.in(1).shape().rank() == 0) return;
    const Shape& shape = call.in(0).shape();
    const auto axis = static_cast<int>(call.attrs().integer("axis"));
    count = shape[axis];
    inner = shape.num_elements(axis + 1, shape.rank());
  }
  int64_t operator()(int64_t element) const { return element / inner % count; }
};

/// `round` to the nearest, ties to the even one, and cut to what T can hold.
template <typename T>
T rounded(double value) {
  return cut_to_integer<T>(std::nearbyint(value));
}

void quantize(const ReferenceCall& call) {
  const ParameterIndex parameter(call);
  const float* x = call.in(0).data<float>();
  const float* scale = call.in(1).data<float>();
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* y = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      const double zero = call.has(2) ? static_cast<double>(call.in(2).data<T>()[parameter(i)]) : 0.0;
      y[i] = cut_to_integer<T>(std::nearbyint(x[i] / scale[parameter(i)]) + zero);
    }
  });
}

void dequantize(const ReferenceCall& call) {
  const ParameterIndex parameter(call);
  const float* scale = call.in(1).data<float>();
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    float* y = call.out().data<float>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      const float zero = call.has(2) ? static_cast<float>(call.in(2).data<T>()[parameter(i)]) : 0.0f;
      y[i] = (static_cast<float>(x[i]) - zero) * scale[parameter(i)];
    }
  });
}

std::vector<int64_t> integers(const Tensor& tensor, int64_t zero = 0) {
  std::vector<int64_t> result(static_cast<size_t>(tensor.num_elements()));
  dispatch_arithmetic(tensor.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::transform(tensor.data<T>(), tensor.data<T>() + tensor.num_elements(), result.begin(),
                   [&](T value) { return static_cast<int64_t>(value) - zero; });
  });
  return result;
}

double element(const Tensor& tensor, int64_t index) {
  return dispatch_arithmetic(tensor.dtype(),
                             [&](auto tag) { return static_cast<double>(tensor.data<decltype(tag)>()[index]); });
}

/// What follows the sums; channel(i): the output channel of element i.
template <typename Channel>
void finish(const ReferenceCall& call, const std::vector<int64_t>& sums, Channel channel) {
  const ops::QuantizedResult result = read_result(call.attrs());
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      double t = static_cast<double>(sums[static_cast<size_t>(i)]) * element(call.in(2), channel(i));
      if (call.has(3)) t += element(call.in(3), channel(i));
      if (call.has(4)) t += element(call.in(4), i);
      t = std::clamp(t, result.low, result.high) * result.factor;
      if constexpr (std::is_integral_v<T>) {
        call.out().data<T>()[i] = rounded<T>(t + static_cast<double>(result.zero));
      } else {
        call.out().data<T>()[i] = static_cast<T>(t);
      }
    }
  });
}

void quantized_conv(const ReferenceCall& call) {
  const std::vector<int64_t> x = integers(call.in(0), call.attrs().integer("x_zero"));
  const std::vector<int64_t> w = integers(call.in(1));
  std::vector<int64_t> sums(static_cast<size_t>(call.out().num_elements()));
  for_each_product(conv_geometry(call.node), [&](int64_t i, int64_t k, int64_t o) {
    sums[static_cast<size_t>(o)] += x[static_cast<size_t>(i)] * w[static_cast<size_t>(k)];
  });
  const Shape& y = call.out().shape();
  const int64_t plane = y.num_elements(2, y.rank());
  finish(call, sums, [&](int64_t i) { return i / plane % y[1]; });
}

void quantized_linear(const ReferenceCall& call) {
  const std::vector<int64_t> x = integers(call.in(0), call.attrs().integer("x_zero"));
  const std::vector<int64_t> w = integers(call.in(1));
  const auto inputs = static_cast<size_t>(call.in(1).shape()[0]), outputs = static_cast<size_t>(call.in(1).shape()[1]);
  std::vector<int64_t> sums(static_cast<size_t>(call.out().num_elements()));
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t row = i / outputs * inputs;
    for (size_t k = 0; k < inputs; ++k) sums[i] += x[row + k] * w[k * outputs + i % outputs];
  }
  finish(call, sums, [&](int64_t i) { return i % static_cast<int64_t>(outputs); });
}

void quantized_add(const ReferenceCall& call) {
  const Attributes& attrs = call.attrs();
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < call.out().num_elements(); ++i) {
        const double sum = element(call.in(0), i) * attrs.real("a_factor") +
                           element(call.in(1), i) * attrs.real("b_factor") + attrs.real("offset");
        call.out().data<T>()[i] = rounded<T>(std::clamp(sum, attrs.real("low"), attrs.real("high")));
      }
    }
  });
}

const RegisterReference kQuantize(op::kQuantize, quantize);
const RegisterReference kDequantize(op::kDequantize, dequantize);
const RegisterReference kConv(op::kQuantizedConv, quantized_conv);
const RegisterReference kLinear(op::kQuantizedLinear, quantized_linear);
const RegisterReference kAdd(op::kQuantizedAdd, quantized_add);

}  // namespace
}  // namespace thalweg
