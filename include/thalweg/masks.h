// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/tensor.h"

/// How well masks of objects or classes agree.
namespace thalweg::metrics {

/// For each pixel of a mask (any element but 0 belongs to it) the number of steps, diagonal ones included, to the
/// nearest pixel outside of it; beyond the image is outside. 0 for pixels outside. `mask` is [height, width]; the
/// result is i32.
Tensor distance_inside(const Tensor& mask);

/// The width of a boundary in pixels: `ratio` of the image's diagonal, at least 1.
int64_t boundary_width(int64_t height, int64_t width, double ratio);

/// Overlap of two masks, and of their boundaries: the pixels of a mask that are no further than boundary_width from its
/// outside (Cheng et al., "Boundary IoU", 2021). Large objects have a high IoU even if their outlines are poor; the
/// boundaries tell.
struct MaskOverlap {
  double iou = 0;
  /// For each ratio.
  std::vector<double> boundary_iou;
};
/// Nothing if both masks are empty. Throws unless both are [height, width] of one shape.
std::optional<MaskOverlap> overlap(const Tensor& a, const Tensor& b, std::span<const double> ratios);

/// The class of each pixel: [height, width] i64 of one sample's output of a segmentation model. Scores [classes,
/// height, width] give the largest one's number, whole numbers [height, width] are classes already, and other numbers
/// [height, width] or [1, height, width] give 1 above `threshold` and 0 elsewhere.
Tensor class_map(const Tensor& output, double threshold = 0.5);

/// Mean overlap over samples and the classes that either of two class maps has. If a map is of two kinds, object and
/// background, only class 1 counts.
class SegmentationOverlap {
 public:
  explicit SegmentationOverlap(std::vector<double> ratios) : ratios_(std::move(ratios)), sum_{0, {}} {
    sum_.boundary_iou.assign(ratios_.size(), 0.0);
  }
  /// Outputs of one sample; see class_map.
  void add(const Tensor& a, const Tensor& b, double threshold = 0.5);
  int64_t pairs() const { return pairs_; }
  /// Zeros before anything was added.
  MaskOverlap mean() const;

 private:
  std::vector<double> ratios_;
  MaskOverlap sum_;
  int64_t pairs_ = 0;
};

}  // namespace thalweg::metrics
