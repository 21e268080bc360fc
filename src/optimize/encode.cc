// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/encode.h"

#include <algorithm>
#include <cmath>

namespace thalweg {

ByteEncoding byte_encoding(const Range& range) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  ByteEncoding encoding;
  encoding.scale = static_cast<float>((high - low) / 255.0);
  if (!(encoding.scale > 0.0f)) return {};
  encoding.zero = static_cast<uint8_t>(std::clamp(std::nearbyint(-low / encoding.scale), 0.0, 255.0));
  return encoding;
}

EncodedWeight encode_weight(const Tensor& weight, int axis) {
  const Shape& shape = weight.shape();
  const int64_t channels = shape[axis], inner = shape.num_elements(axis + 1, shape.rank());
  const float* values = weight.data<float>();
  EncodedWeight result{Tensor(DType::kI8, shape), Tensor(DType::kF32, {channels})};
  float* scales = result.scales.data<float>();
  std::fill_n(scales, channels, 0.0f);
  const auto channel = [&](int64_t i) { return i / inner % channels; };
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    scales[channel(i)] = std::max(scales[channel(i)], std::fabs(values[i]));
  }
  for (int64_t c = 0; c < channels; ++c) scales[c] = scales[c] > 0.0f ? scales[c] / 127.0f : 1.0f;
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    const float steps = std::nearbyint(values[i] / scales[channel(i)]);
    result.integers.data<int8_t>()[i] = static_cast<int8_t>(std::clamp(steps, -127.0f, 127.0f));
  }
  return result;
}

Tensor transposed_matrix(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(DType::kF32, {columns, rows});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) result.data<float>()[c * rows + r] = matrix.data<float>()[r * columns + c];
  }
  return result;
}

}  // namespace thalweg
