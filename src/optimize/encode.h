// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/calibrate.h"

namespace thalweg {

/// How u8 stands for the numbers of a range, which is widened to hold 0.
struct ByteEncoding {
  float scale = 1.0f;
  uint8_t zero = 0;
};
ByteEncoding byte_encoding(const Range& range);

/// Weights as i8 with one scale for each place along `axis`, so that the largest becomes 127.
struct EncodedWeight {
  Tensor integers;
  Tensor scales;
};
EncodedWeight encode_weight(const Tensor& weight, int axis);

/// The transposed matrix.
Tensor transposed_matrix(const Tensor& matrix);

}  // namespace thalweg
