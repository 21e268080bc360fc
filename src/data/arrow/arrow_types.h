// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/type.h>

#include "thalweg/tensor.h"

namespace thalweg::data {

/// For the element types that columns may become.
inline std::shared_ptr<arrow::DataType> arrow_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return arrow::float32();
    case DType::kF64: return arrow::float64();
    case DType::kI32: return arrow::int32();
    case DType::kI64: return arrow::int64();
    default: raise("columns become f32, f64, i32 or i64, not ", name_of(dtype));
  }
}

}  // namespace thalweg::data
