// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "graph/op_registry.h"

namespace thalweg {

/// A place between two neighbouring elements of a line, and how much of each it takes.
struct RoiSample {
  int64_t low, high;
  double low_weight, high_weight;
};

/// One axis of a region: for each bin the samples that lie in the picture.
struct RoiLine {
  std::vector<std::vector<RoiSample>> bins;
  /// Of each bin, also those outside of the picture; at least 1.
  double samples = 1;
};

/// A region of `extent` from `start` on, in elements, cut into `bins` with `ratio` samples each (0: as many as a bin
/// has elements). There are never more samples than the picture has room for, whatever the region.
RoiLine roi_line(double start, double extent, int64_t bins, int64_t ratio, int64_t size);

/// What roi_align and its gradient read of a region, from the node's attributes: [top, left, bottom, right] of `roi` is
/// at 1, 0, 3, 2.
struct RoiRegion {
  RoiLine rows, columns;
};
template <typename T>
RoiRegion roi_region(const Attributes& attrs, const T* roi, int64_t height, int64_t width) {
  const double scale = attrs.real("spatial_scale");
  const bool half = attrs.text("coordinate_transformation_mode") == "half_pixel";
  const auto side = [&](int low, int high, const char* bins, int64_t size) {
    const double start = static_cast<double>(roi[low]) * scale - (half ? 0.5 : 0.0);
    double extent = static_cast<double>(roi[high]) * scale - (half ? 0.5 : 0.0) - start;
    // Without the shift by half an element regions have at least one.
    if (!half && !(extent >= 1.0)) extent = 1.0;
    return roi_line(start, extent, attrs.integer(bins), attrs.integer("sampling_ratio"), size);
  };
  return {side(1, 3, "output_height", height), side(0, 2, "output_width", width)};
}

}  // namespace thalweg
