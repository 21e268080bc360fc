// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/voc.h"

#include <algorithm>

#include "thalweg/error.h"
#include "vision/cells.h"
#include "vision/curve.h"

namespace thalweg::vision {
namespace {

/// The object that a detection overlaps most, the first of equals; none if it overlaps no object.
struct Nearest {
  size_t object = 0;
  double overlap = 0.0;
};

Nearest nearest(const Cell& cell, const Box& box) {
  Nearest result;
  for (size_t i = 0; i < cell.objects.size(); ++i) {
    const double overlap = iou(box, cell.objects[i]->box);
    if (overlap > result.overlap) result = {i, overlap};
  }
  return result;
}

/// Of one category, over all pictures.
struct Found {
  struct One {
    const Detection* detection;
    Outcome outcome;
  };
  std::vector<One> detections;
  int64_t objects = 0;
};

Found match(const CategoryCells& category, double min_iou) {
  Found found;
  for (const Cell& cell : category.cells) {
    found.objects += std::count_if(cell.objects.begin(), cell.objects.end(), [](auto* one) { return !one->crowd; });
    std::vector<bool> taken(cell.objects.size(), false);
    for (const Detection* detection : cell.detections) {
      const Nearest near = nearest(cell, detection->box);
      Outcome outcome = Outcome::kWrong;
      if (near.overlap >= min_iou) {
        if (cell.objects[near.object]->crowd) {
          outcome = Outcome::kNotCounted;
        } else if (!taken[near.object]) {
          outcome = Outcome::kRight;
          taken[near.object] = true;
        }
      }
      found.detections.push_back({detection, outcome});
    }
  }
  return found;
}

double area_under(Curve& curve) {
  curve.raise_to_envelope();
  double sum = 0;
  double reached = 0;
  for (size_t i = 0; i < curve.recall.size(); ++i) {
    sum += (curve.recall[i] - reached) * curve.precision[i];
    reached = curve.recall[i];
  }
  return sum;
}

double at_eleven_points(Curve& curve) {
  constexpr int kLast = 10;
  curve.raise_to_envelope();
  double sum = 0;
  size_t i = 0;
  for (int point = 0; point <= kLast; ++point) {
    while (i < curve.recall.size() && curve.recall[i] < static_cast<double>(point) / kLast) ++i;
    if (i < curve.recall.size()) sum += curve.precision[i];
  }
  return sum / (kLast + 1);
}

double average_precision(Found& found, VocArea area) {
  // Equal scores stay in the order they were given in, whatever their pictures: all lie in one list.
  std::sort(found.detections.begin(), found.detections.end(), [](const Found::One& a, const Found::One& b) {
    if (a.detection->score != b.detection->score) return a.detection->score > b.detection->score;
    return a.detection < b.detection;
  });
  std::vector<Outcome> outcomes;
  for (const Found::One& one : found.detections) outcomes.push_back(one.outcome);
  Curve curve;
  curve.trace(outcomes, found.objects);
  return area == VocArea::kWhole ? area_under(curve) : at_eleven_points(curve);
}

}  // namespace

VocScores evaluate_voc(const Annotations& annotations, const std::vector<Detection>& detections,
                       const VocOptions& options) {
  TW_REQUIRE(options.min_iou > 0.0 && options.min_iou <= 1.0, "the least overlap is in (0, 1], not ", options.min_iou);
  const Cells cells(annotations, detections, {});
  VocScores result;
  double sum = 0;
  int64_t count = 0;
  for (const CategoryCells& category : cells.categories()) {
    Found found = match(category, options.min_iou);
    const double ap = found.objects == 0 ? -1.0 : average_precision(found, options.area);
    result.categories.push_back({category.category, ap});
    if (found.objects == 0) continue;
    sum += ap;
    ++count;
  }
  if (count > 0) result.mean = sum / static_cast<double>(count);
  return result;
}

}  // namespace thalweg::vision
