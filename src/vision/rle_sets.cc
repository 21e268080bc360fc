// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/error.h"
#include "vision/runs.h"

namespace thalweg::vision {
namespace {

void require_same_size(const Rle& a, const Rle& b) {
  TW_REQUIRE(a.height() == b.height() && a.width() == b.width(), "masks of different sizes: ", a.height(), " x ",
             a.width(), " and ", b.height(), " x ", b.width());
}

/// Places at which the number of masks that have a pixel goes from below `least` to it, or back.
Rle covered_by(std::span<const Rle> masks, int64_t least) {
  TW_REQUIRE(!masks.empty(), "there is no mask");
  struct Edge {
    uint32_t at;
    bool begins;
  };
  std::vector<Edge> edges;
  for (const Rle& mask : masks) {
    require_same_size(masks.front(), mask);
    const std::vector<uint32_t> runs = mask.runs_inside();
    for (size_t i = 0; i < runs.size(); ++i) edges.push_back({runs[i], i % 2 == 0});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::vector<uint32_t> result;
  int64_t count = 0;
  for (size_t i = 0; i < edges.size();) {
    const bool before = count >= least;
    const uint32_t at = edges[i].at;
    // All at one place together: a run that begins where another ends goes on.
    for (; i < edges.size() && edges[i].at == at; ++i) count += edges[i].begins ? 1 : -1;
    if ((count >= least) != before) result.push_back(at);
  }
  return rle_of_runs(masks.front().height(), masks.front().width(), result);
}

}  // namespace

Rle united(std::span<const Rle> masks) { return covered_by(masks, 1); }
Rle intersected(std::span<const Rle> masks) { return covered_by(masks, static_cast<int64_t>(masks.size())); }

int64_t shared_pixels(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  if (a.empty() || b.empty()) return 0;
  // The first pair whose end lies behind the other's begin.
  const auto first = [](std::span<const uint32_t> runs, uint32_t begin) {
    return static_cast<size_t>(std::upper_bound(runs.begin(), runs.end(), begin) - runs.begin()) / 2 * 2;
  };
  size_t i = first(a, b.front());
  size_t j = first(b, a.front());
  int64_t sum = 0;
  while (i < a.size() && j < b.size()) {
    const uint32_t begin = std::max(a[i], b[j]);
    const uint32_t end = std::min(a[i + 1], b[j + 1]);
    if (end > begin) sum += end - begin;
    (a[i + 1] < b[j + 1] ? i : j) += 2;
  }
  return sum;
}

double iou(const Rle& detection, const Rle& truth, bool crowd) {
  require_same_size(detection, truth);
  const int64_t shared = shared_pixels(detection.runs_inside(), truth.runs_inside());
  if (shared == 0) return 0.0;
  const int64_t whole = crowd ? detection.area() : detection.area() + truth.area() - shared;
  return static_cast<double>(shared) / static_cast<double>(whole);
}

}  // namespace thalweg::vision
