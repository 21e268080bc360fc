// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::onnx {

/// How Resize computes one dimension.
struct ResizeAxis {
  int64_t in = 0;
  int64_t out = 0;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;  ///< for tf_crop_and_resize only, in parts of the size
};

struct ResizeMode {
  std::string interpolation;  ///< nearest, linear or cubic
  std::string coordinates;
  std::string nearest;
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

/// What one element of the output is made of: weights of elements of the input.
struct ResizeTaps {
  using Weight = std::pair<int64_t, double>;  ///< an element of the input and its part in the sum

  bool outside = false;  ///< beyond the input: takes the extrapolation value
  std::vector<Weight> weights;
};

/// One entry for each element of the output. Throws Error for modes that ONNX does not know.
std::vector<ResizeTaps> resize_taps(const ResizeAxis& axis, const ResizeMode& mode);

}  // namespace thalweg::onnx
