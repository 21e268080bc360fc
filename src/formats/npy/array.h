// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "thalweg/tensor.h"

namespace thalweg::npy {

/// What stands before the values of an array.
struct Header {
  DType dtype = DType::kF32;
  bool big_endian = false;
  /// The first dimension is the innermost one.
  bool fortran_order = false;
  Shape shape;
  /// Where the values begin.
  size_t data_offset = 0;
};

/// `where` names the array in errors. The values are known to be as many as the header says.
Header parse_header(std::string_view bytes, const std::string& where);

/// Header and padding for a row-major array, so long that the values after it are aligned.
std::string header_of(DType dtype, const Shape& shape);

/// The array that these bytes hold. The tensor views them if it can, and then holds `owner`.
Tensor parse_array(std::string_view bytes, const std::string& where, std::shared_ptr<void> owner);

/// A row-major tensor whose element type NumPy has.
Tensor writable(const Tensor& tensor);

}  // namespace thalweg::npy
