// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "thalweg/vision/annotations.h"

namespace thalweg::vision {

/// What the overlap of a detection and an object is measured by.
enum class OverlapKind {
  kBox,
  kMask,
  /// The smaller of the overlaps of masks and of their boundaries; for crowd regions that of masks.
  kBoundary
};

struct CocoOptions {
  OverlapKind kind = OverlapKind::kBox;
  /// Of boundaries: their width as a share of the picture's diagonal.
  double dilation_ratio = 0.02;
  /// 0: as many as there are processors.
  int threads = 0;
};

struct CategoryScores {
  int64_t category = 0;
  /// Average precision over the thresholds, and at 0.5; -1 where there is no object that counts.
  double ap = -1;
  double ap50 = -1;
};

struct CocoScores {
  /// As coco_score_names says, each -1 where there is no object that it is about.
  std::array<double, 12> values = {};
  /// In the order of their ids.
  std::vector<CategoryScores> categories;
  /// Detections of categories that the annotations do not have; they count for nothing.
  int64_t unknown_category = 0;
  /// Objects without a mask, where masks are compared; they count for nothing.
  int64_t without_mask = 0;
};

/// AP, AP50, AP75, APs, APm, APl, AR1, AR10, AR100, ARs, ARm, ARl.
const std::array<const char*, 12>& coco_score_names();

/// COCO's 12 numbers, by COCO's rules (docs/vision.md): average precision and recall over the overlaps 0.5, 0.55, ...
/// 0.95, over categories, at most 100 detections of a category in a picture. Objects of pictures or categories that are
/// not listed do not count. Throws Error that names the detection or object if a score is no number, a detection is of
/// an unknown picture, or a mask is of another size than the picture.
CocoScores evaluate_coco(const Annotations& annotations, const std::vector<Detection>& detections,
                         const CocoOptions& options = {});

}  // namespace thalweg::vision
