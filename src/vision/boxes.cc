// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/boxes.h"

#include <algorithm>

namespace thalweg::vision {

double iou(const Box& detection, const Box& truth, bool crowd) {
  const double width = std::min(detection.x + detection.width, truth.x + truth.width) - std::max(detection.x, truth.x);
  const double height =
      std::min(detection.y + detection.height, truth.y + truth.height) - std::max(detection.y, truth.y);
  if (width <= 0 || height <= 0) return 0.0;
  const double shared = width * height;
  const double whole = crowd ? area(detection) : area(detection) + area(truth) - shared;
  return shared / whole;
}

}  // namespace thalweg::vision
