// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/tensor.h"

namespace thalweg::data {

/// Bytes of one row: all dimensions but the outermost.
inline size_t row_bytes(const Tensor& tensor) {
  return static_cast<size_t>(tensor.shape().num_elements(1, tensor.shape().rank())) * size_of(tensor.dtype());
}

/// Where row `row` of a tensor begins.
inline char* row_of(const Tensor& tensor, int64_t row) {
  return static_cast<char*>(tensor.raw()) + static_cast<size_t>(row) * row_bytes(tensor);
}

}  // namespace thalweg::data
