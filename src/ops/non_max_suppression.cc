// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression.
#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "graph/host_op.h"

namespace thalweg {
namespace {

struct Box {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

/// `centred`: x and y of the middle, width, height; otherwise two opposite corners, y first, in either order.
Box read_box(const float* values, bool centred) {
  if (centred) {
    const float half_width = values[2] / 2, half_height = values[3] / 2;
    return {values[0] - half_width, values[1] - half_height, values[0] + half_width, values[1] + half_height};
  }
  return {std::min(values[1], values[3]), std::min(values[0], values[2]), std::max(values[1], values[3]),
          std::max(values[0], values[2])};
}

float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const float both = width * height;
  const float all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

/// Numbers of the boxes kept for one class, best first.
std::vector<int64_t> keep_best(const std::vector<Box>& boxes, const float* scores, int64_t most, float overlap_limit,
                               float score_limit) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (scores[i] > score_limit) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  for (const int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= most) break;
    require_time();
    const bool clear = std::all_of(kept.begin(), kept.end(), [&](int64_t other) {
      return overlap(boxes[static_cast<size_t>(candidate)], boxes[static_cast<size_t>(other)]) <= overlap_limit;
    });
    if (clear) kept.push_back(candidate);
  }
  return kept;
}

std::vector<Tensor> non_max_suppression(const HostContext& call) {
  const Tensor& boxes = call.input(0);
  const Tensor& scores = call.input(1);
  TW_REQUIRE(boxes.shape().rank() == 3 && boxes.shape()[2] == 4 && scores.shape().rank() == 3 &&
                 scores.shape()[0] == boxes.shape()[0] && scores.shape()[2] == boxes.shape()[1],
             "boxes ", boxes.shape(), " and scores ", scores.shape(), " do not fit");
  const int64_t most = call.content_integer(2, 0);
  const auto overlap_limit = static_cast<float>(call.content_number(3, 0.0));
  const auto score_limit =
      static_cast<float>(call.content_number(4, static_cast<double>(-std::numeric_limits<float>::infinity())));
  const bool centred = call.integer("center_point_box", 0) != 0;
  std::vector<int64_t> selected;
  const int64_t count = boxes.shape()[1];
  for (int64_t batch = 0; batch < boxes.shape()[0]; ++batch) {
    std::vector<Box> own;
    for (int64_t i = 0; i < count; ++i) own.push_back(read_box(boxes.data<float>() + (batch * count + i) * 4, centred));
    for (int64_t kind = 0; kind < scores.shape()[1]; ++kind) {
      const float* own_scores = scores.data<float>() + (batch * scores.shape()[1] + kind) * count;
      for (const int64_t box : keep_best(own, own_scores, most, overlap_limit, score_limit)) {
        selected.insert(selected.end(), {batch, kind, box});
      }
    }
  }
  return {Tensor::from<int64_t>({static_cast<int64_t>(selected.size()) / 3, 3}, selected)};
}

const RegisterHost kNonMaxSuppression("onnx.NonMaxSuppression", non_max_suppression);

}  // namespace
}  // namespace thalweg
