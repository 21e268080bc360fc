// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

struct Encoding {
  float scale = 1.0f;
  uint8_t zero = 0;
};

Encoding encoding_of(const Tensor& x) {
  const float* values = x.data<float>();
  float low = 0.0f, high = 0.0f;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  Encoding encoding;
  encoding.scale = (high - low) / 255.0f;
  // ONNX leaves open what all zeros become.
  if (encoding.scale == 0.0f) return {};
  encoding.zero = cut_to_integer<uint8_t>(std::nearbyint(-low / encoding.scale));
  return encoding;
}

uint8_t encoded(float value, const Encoding& encoding) {
  return cut_to_integer<uint8_t>(std::nearbyint(value / encoding.scale) + static_cast<float>(encoding.zero));
}

void dynamic_quantize(const ReferenceCall& call) {
  const Encoding encoding = encoding_of(call.in(0));
  for (int64_t i = 0; i < call.in(0).num_elements(); ++i) {
    call.out(0).data<uint8_t>()[i] = encoded(call.in(0).data<float>()[i], encoding);
  }
  *call.out(1).data<float>() = encoding.scale;
  *call.out(2).data<uint8_t>() = encoding.zero;
}

/// Sums over rows of `left` (less its zero) and columns of the matrix, which is input 1.
std::vector<int32_t> sums(const ReferenceCall& call, const std::vector<int32_t>& left) {
  const auto inputs = static_cast<size_t>(call.in(1).shape()[0]), outputs = static_cast<size_t>(call.in(1).shape()[1]);
  const int8_t* matrix = call.in(1).data<int8_t>();
  std::vector<int32_t> result(static_cast<size_t>(call.out().num_elements()));
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t row = i / outputs * inputs;
    for (size_t k = 0; k < inputs; ++k) result[i] += left[row + k] * matrix[k * outputs + i % outputs];
  }
  return result;
}

void matmul_integer(const ReferenceCall& call) {
  const int32_t zero = call.has(2) ? *call.in(2).data<uint8_t>() : 0;
  std::vector<int32_t> left(static_cast<size_t>(call.in(0).num_elements()));
  for (size_t i = 0; i < left.size(); ++i) left[i] = call.in(0).data<uint8_t>()[i] - zero;
  const std::vector<int32_t> result = sums(call, left);
  std::copy(result.begin(), result.end(), call.out().data<int32_t>());
}

void dynamic_linear(const ReferenceCall& call) {
  const Encoding encoding = encoding_of(call.in(0));
  std::vector<int32_t> left(static_cast<size_t>(call.in(0).num_elements()));
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = encoded(call.in(0).data<float>()[i], encoding) - encoding.zero;
  }
  const std::vector<int32_t> result = sums(call, left);
  const int64_t outputs = call.in(1).shape()[1];
  for (size_t i = 0; i < result.size(); ++i) {
    const auto o = static_cast<int64_t>(i) % outputs;
    const double scale = static_cast<double>(encoding.scale) * call.in(2).data<float>()[o];
    const double bias = call.has(3) ? call.in(3).data<float>()[o] : 0.0;
    call.out().data<float>()[i] = static_cast<float>(result[i] * scale + bias);
  }
}

const RegisterReference kQuantize(op::kDynamicQuantize, dynamic_quantize);
const RegisterReference kMatmul(op::kMatmulInteger, matmul_integer);
const RegisterReference kLinear(op::kDynamicLinear, dynamic_linear);

}  // namespace
}  // namespace thalweg
