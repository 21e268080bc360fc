// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/vision/coco.h"
#include "vision/cells.h"

namespace thalweg::vision {

/// The overlap of each detection of a cell with each of its objects.
class Overlaps {
 public:
  Overlaps(const Cell& cell, OverlapKind kind, double dilation_ratio);
  double at(size_t detection, size_t object) const { return values_[detection * objects_ + object]; }

 private:
  void measure_boxes(const Cell& cell);
  void measure_masks(const Cell& cell, bool with_boundaries, double dilation_ratio);

  size_t objects_;
  std::vector<double> values_;
};

}  // namespace thalweg::vision
