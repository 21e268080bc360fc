// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

/// Boxes as COCO's files have them.
namespace thalweg::vision {

/// The upper left corner and the extents, in pixels; whole pixels begin at whole numbers.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  bool operator==(const Box&) const = default;
};

inline double area(const Box& box) { return box.width * box.height; }

/// Intersection over union. With a crowd region, of which a detection cannot cover more than its own part, it is
/// intersection over the area of the detection.
double iou(const Box& detection, const Box& truth, bool crowd = false);

}  // namespace thalweg::vision
