// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/vision/annotations.h"

namespace thalweg::vision {

/// How a curve of precision over recall becomes one number.
enum class VocArea {
  kWhole,        ///< the area under it, as VOC has done since 2010
  kElevenPoints  ///< the mean precision at the recalls 0, 0.1, ... 1, as VOC 2007 did
};

struct VocOptions {
  double min_iou = 0.5;
  VocArea area = VocArea::kWhole;
};

struct VocScores {
  /// The mean over the categories that have objects; -1 if none has.
  double mean = -1;
  struct OfCategory {
    int64_t category = 0;
    /// -1 where there is no object that counts.
    double ap = -1;
  };
  /// In the order of their ids.
  std::vector<OfCategory> categories;
};

/// Mean average precision by VOC's rules: a detection is about the object of its category in its picture that it
/// overlaps most; it is right if they overlap enough and no detection of a higher score was about the same. Throws
/// Error as evaluate_coco.
VocScores evaluate_voc(const Annotations& annotations, const std::vector<Detection>& detections,
                       const VocOptions& options = {});

}  // namespace thalweg::vision
