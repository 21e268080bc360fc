// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/numbers.h"

#include <charconv>
#include <cmath>

#include "thalweg/stored_types.h"

namespace thalweg::cli {
namespace {

template <typename T>
void append_number(std::string& text, T value) {
  char digits[64];
  const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, failure == std::errc() ? end : digits);
}

template <typename T>
void append_float(std::string& text, T value, const char* not_finite) {
  if (not_finite != nullptr && !std::isfinite(value)) {
    text += not_finite;
  } else {
    append_number(text, value);
  }
}

void append_lists(std::string& text, const Tensor& tensor, int dimension, int64_t& index) {
  if (dimension == tensor.shape().rank()) {
    append_element(text, tensor, index++, "null");
    return;
  }
  text += '[';
  for (int64_t i = 0; i < tensor.shape()[dimension]; ++i) {
    if (i > 0) text += ',';
    append_lists(text, tensor, dimension + 1, index);
  }
  text += ']';
}

}  // namespace

void append_element(std::string& text, const Tensor& tensor, int64_t index, const char* not_finite) {
  const void* data = tensor.raw();
  switch (tensor.dtype()) {
    case DType::kF32: append_float(text, static_cast<const float*>(data)[index], not_finite); break;
    case DType::kF64: append_float(text, static_cast<const double*>(data)[index], not_finite); break;
    case DType::kBF16: append_float(text, float(static_cast<const BF16*>(data)[index]), not_finite); break;
    case DType::kF16: append_float(text, float(static_cast<const F16*>(data)[index]), not_finite); break;
    case DType::kI8: append_number(text, int{static_cast<const int8_t*>(data)[index]}); break;
    case DType::kU8: append_number(text, int{static_cast<const uint8_t*>(data)[index]}); break;
    case DType::kI16: append_number(text, static_cast<const int16_t*>(data)[index]); break;
    case DType::kU16: append_number(text, static_cast<const uint16_t*>(data)[index]); break;
    case DType::kI32: append_number(text, static_cast<const int32_t*>(data)[index]); break;
    case DType::kU32: append_number(text, static_cast<const uint32_t*>(data)[index]); break;
    case DType::kI64: append_number(text, static_cast<const int64_t*>(data)[index]); break;
    case DType::kU64: append_number(text, static_cast<const uint64_t*>(data)[index]); break;
    case DType::kBool: text += static_cast<const bool*>(data)[index] ? "true" : "false"; break;
    default: {
      // Numbers of few bits have a byte each; texts and the like have none, and say so.
      auto* one = static_cast<char*>(tensor.raw()) + static_cast<size_t>(index) * size_of(tensor.dtype());
      const Tensor number = stored::widened(Tensor::borrow(tensor.dtype(), {1}, one, nullptr));
      append_float(text, *number.data<float>(), not_finite);
    }
  }
}

void append_json(std::string& text, const Tensor& tensor) {
  int64_t index = 0;
  append_lists(text, tensor, 0, index);
}

}  // namespace thalweg::cli
