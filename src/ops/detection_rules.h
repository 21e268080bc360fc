// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// What detection_output and its kernels share.
template <typename T>
struct DetectedBox {
  T left, top, right, bottom;
  T area() const { return right < left || bottom < top ? T{} : (right - left) * (bottom - top); }
};

template <typename T>
T overlap_of(const DetectedBox<T>& a, const DetectedBox<T>& b) {
  const T width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const T height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0) || !(height > 0)) return T{};
  const T both = width * height;
  return both / (a.area() + b.area() - both);
}

enum class BoxCode { kCenterSize, kCorner, kCornerSize };

/// The attributes of a node, read once.
struct DetectionRules {
  explicit DetectionRules(const Node& node);

  int64_t classes, background, box_classes, priors, candidates, keep;
  BoxCode code;
  bool variance_in_target;
  double score_threshold, overlap_threshold, eta;
};

/// The box that the four numbers at `code` stand for. `prior` and `variance` are those of one prior.
template <typename T>
DetectedBox<T> decode_box(const DetectionRules& rules, const T* code, const T* prior, const T* variance) {
  T said[4];
  for (int i = 0; i < 4; ++i) said[i] = rules.variance_in_target ? code[i] : code[i] * variance[i];
  const T width = prior[2] - prior[0], height = prior[3] - prior[1];
  if (rules.code == BoxCode::kCorner) {
    return {prior[0] + said[0], prior[1] + said[1], prior[2] + said[2], prior[3] + said[3]};
  }
  if (rules.code == BoxCode::kCornerSize) {
    return {prior[0] + said[0] * width, prior[1] + said[1] * height, prior[2] + said[2] * width,
            prior[3] + said[3] * height};
  }
  const T x = said[0] * width + (prior[0] + prior[2]) / 2, y = said[1] * height + (prior[1] + prior[3]) / 2;
  const T half_width = std::exp(said[2]) * width / 2, half_height = std::exp(said[3]) * height / 2;
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

/// Which of the candidates of one class are kept, best first. `order` has their numbers, best first; `box_of(number)`
/// gives their boxes.
template <typename T, typename BoxOf>
std::vector<int64_t> suppress(const DetectionRules& rules, const std::vector<int64_t>& order, const BoxOf& box_of) {
  std::vector<int64_t> kept;
  std::vector<DetectedBox<T>> boxes;
  auto threshold = static_cast<T>(rules.overlap_threshold);
  for (const int64_t candidate : order) {
    const DetectedBox<T> box = box_of(candidate);
    const bool clear = std::all_of(boxes.begin(), boxes.end(),
                                   [&](const DetectedBox<T>& other) { return overlap_of(box, other) <= threshold; });
    if (!clear) continue;
    kept.push_back(candidate);
    boxes.push_back(box);
    if (rules.eta < 1 && threshold > static_cast<T>(0.5)) threshold *= static_cast<T>(rules.eta);
  }
  return kept;
}

/// One object.
template <typename T>
struct Detection {
  int64_t label, prior;
  T score;
};

/// The best `keep` of them, in the order in which they came: class by class.
template <typename T>
void keep_best_detections(std::vector<Detection<T>>& found, int64_t keep) {
  if (static_cast<int64_t>(found.size()) <= keep) return;
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection<T>& a, const Detection<T>& b) { return a.score > b.score; });
  found.resize(static_cast<size_t>(keep));
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection<T>& a, const Detection<T>& b) { return a.label < b.label; });
}

/// Writes the rows of one picture, those that are not needed too.
template <typename T, typename BoxOf>
void write_detections(const std::vector<Detection<T>>& found, int64_t picture, int64_t rows, const BoxOf& box_of,
                      T* out) {
  std::fill_n(out, rows * 7, static_cast<T>(-1));
  for (const Detection<T>& detection : found) {
    const DetectedBox<T> box = box_of(detection);
    const T row[] = {static_cast<T>(picture),
                     static_cast<T>(detection.label),
                     detection.score,
                     box.left,
                     box.top,
                     box.right,
                     box.bottom};
    out = std::copy(std::begin(row), std::end(row), out);
  }
}

}  // namespace thalweg
