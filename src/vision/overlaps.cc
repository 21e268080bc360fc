// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "vision/overlaps.h"

#include <algorithm>

#include "thalweg/error.h"
#include "vision/runs.h"

namespace thalweg::vision {
namespace {

/// A set of pixels that is compared with many others.
struct Region {
  std::vector<uint32_t> runs;
  int64_t area = 0;
  Box box;

  Region() = default;
  explicit Region(const Rle& mask) : runs(mask.runs_inside()), area(mask.area()), box(mask.bounding_box()) {}
};

struct PreparedMask {
  Region whole;
  Region boundary;
};

double overlap(const Region& detection, const Region& truth, bool crowd) {
  if (iou(detection.box, truth.box) <= 0) return 0.0;
  const int64_t shared = shared_pixels(detection.runs, truth.runs);
  if (shared == 0) return 0.0;
  const int64_t whole = crowd ? detection.area : detection.area + truth.area - shared;
  return static_cast<double>(shared) / static_cast<double>(whole);
}

struct SizeOf {
  int64_t height, width;
};

/// Of a picture of unknown size that of the first mask.
SizeOf size_of(const Cell& cell) {
  if (cell.picture->height > 0) return {cell.picture->height, cell.picture->width};
  for (const Object* object : cell.objects) {
    if (const auto* mask = std::get_if<Rle>(&object->segmentation)) return {mask->height(), mask->width()};
  }
  raise("the size of picture ", cell.picture->id, " is not known, which masks need");
}

Rle mask_of(const Segmentation& segmentation, const SizeOf& size) {
  if (const auto* polygons = std::get_if<std::vector<Polygon>>(&segmentation)) {
    return Rle::from_polygons(size.height, size.width, *polygons);
  }
  const Rle& mask = std::get<Rle>(segmentation);
  TW_REQUIRE(mask.height() == size.height && mask.width() == size.width, "its mask is ", mask.height(), " x ",
             mask.width(), " pixels, the picture ", size.height, " x ", size.width);
  return mask;
}

PreparedMask prepared(const Rle& mask, bool with_boundary, double dilation_ratio) {
  PreparedMask result{Region(mask), {}};
  if (with_boundary) result.boundary = Region(boundary(mask, dilation_ratio));
  return result;
}

Rle mask_of(const Object& object, const SizeOf& size) {
  try {
    return mask_of(object.segmentation, size);
  } catch (const Error& error) {
    raise("object ", object.id, " of picture ", object.picture, ": ", error.what());
  }
}

Rle mask_of(const Detection& detection, const SizeOf& size) {
  try {
    if (std::holds_alternative<std::monostate>(detection.segmentation)) {
      return Rle::from_box(size.height, size.width, detection.box);
    }
    return mask_of(detection.segmentation, size);
  } catch (const Error& error) {
    raise("a detection of category ", detection.category, " in picture ", detection.picture, ": ", error.what());
  }
}

}  // namespace

Overlaps::Overlaps(const Cell& cell, OverlapKind kind, double dilation_ratio)
    : objects_(cell.objects.size()), values_(cell.objects.size() * cell.detections.size()) {
  if (values_.empty()) return;
  if (kind == OverlapKind::kBox) {
    measure_boxes(cell);
  } else {
    measure_masks(cell, kind == OverlapKind::kBoundary, dilation_ratio);
  }
}

void Overlaps::measure_boxes(const Cell& cell) {
  double* value = values_.data();
  for (const Detection* detection : cell.detections) {
    for (const Object* object : cell.objects) *value++ = iou(detection->box, object->box, object->crowd);
  }
}

void Overlaps::measure_masks(const Cell& cell, bool with_boundaries, double dilation_ratio) {
  const SizeOf size = size_of(cell);
  std::vector<PreparedMask> objects;
  for (const Object* object : cell.objects) {
    objects.push_back(prepared(mask_of(*object, size), with_boundaries && !object->crowd, dilation_ratio));
  }
  double* value = values_.data();
  for (const Detection* detection : cell.detections) {
    const PreparedMask mask = prepared(mask_of(*detection, size), with_boundaries, dilation_ratio);
    for (size_t i = 0; i < objects.size(); ++i) {
      const bool crowd = cell.objects[i]->crowd;
      *value = overlap(mask.whole, objects[i].whole, crowd);
      if (with_boundaries && !crowd) *value = std::min(*value, overlap(mask.boundary, objects[i].boundary, false));
      ++value;
    }
  }
}

}  // namespace thalweg::vision
