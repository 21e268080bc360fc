// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph/op_registry.h"

namespace thalweg {

/// Strides, dilations, pads and the kernels of pools are at most this: with extents of at most kMostElements nothing
/// below overflows.
constexpr int64_t kMostWindow = int64_t{1} << 20;

/// A window that slides over the spatial dimensions, as convolutions and pools share it. One entry per dimension.
struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> begins;  ///< padding before the first element
  std::vector<int64_t> ends;    ///< padding after the last element
  std::vector<int64_t> dilations;

  size_t rank() const { return kernel.size(); }
  /// Elements from the first to the last that the window covers in dimension `d`.
  int64_t reach(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  /// Positions of the window in `extent` elements; free if that is. May be less than 1 if it does not fit.
  int64_t positions(size_t d, int64_t extent) const;
};

/// The attributes that a window is read from, and, if `grouped`, "groups"; then the op's own.
std::vector<AttributeDef> with_window(std::vector<AttributeDef> own, bool grouped = true);

/// Reads "strides", "pads" and "dilations"; what is missing takes its default.
Window read_window(const Attributes& attrs, const std::vector<int64_t>& kernel);
/// Fails unless those attributes fit `rank` spatial dimensions and make sense.
void check_window(const InferContext& context, size_t rank);

/// The dimensions of `shape` from `first` on.
std::vector<int64_t> spatial_dims(const Shape& shape, int first = 2);
/// [a, b, spatial...].
Shape with_spatial(int64_t a, int64_t b, const std::vector<int64_t>& spatial);

}  // namespace thalweg
