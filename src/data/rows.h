// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/tensor.h"

namespace thalweg::data {

/// Bytes of one row: all dimensions of the type but the outermost.
inline size_t row_bytes(const TensorType& type) {
  return static_cast<size_t>(type.shape.num_elements(1, type.shape.rank())) * size_of(type.dtype);
}

/// Where row `row` of a tensor begins.
inline char* row_of(const Tensor& tensor, int64_t row) {
  return static_cast<char*>(tensor.raw()) + static_cast<size_t>(row) * row_bytes(tensor.type());
}

}  // namespace thalweg::data
