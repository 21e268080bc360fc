// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "thalweg/error.h"
#include "vision/runs.h"

namespace thalweg::vision {
namespace {

/// The grid on which outlines are drawn is so many times as fine as the pixels.
constexpr int64_t kFine = 5;
/// The middle of a pixel on that grid.
constexpr int64_t kMiddle = kFine / 2;
/// Further out a corner is a mistake, and its place on the grid would not fit.
constexpr double kFurthest = 1e8;
/// No real outline crosses as many columns; a hostile one of 1 MB could ask for a hundred gigabytes.
constexpr size_t kMostCrossings = size_t{1} << 24;

struct GridPoint {
  int64_t x, y;
};

int64_t on_grid(double value) {
  TW_REQUIRE(std::isfinite(value) && std::abs(value) <= kFurthest, "a corner of a polygon lies at ", value);
  return static_cast<int64_t>(static_cast<double>(kFine) * value + 0.5);
}

int64_t ceil_of_quotient(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// Collects where outlines cross the middles of columns of pixels: each crossing turns all pixels of the column from
/// there on, down, around.
class Crossings {
 public:
  Crossings(int64_t height, int64_t width) : height_(height), width_(width) {}

  void add(const Polygon& polygon) {
    TW_REQUIRE(polygon.size() % 2 == 0, "a polygon has ", polygon.size(), " numbers, which are no pairs");
    const size_t corners = polygon.size() / 2;
    for (size_t i = 0; i < corners; ++i) {
      const size_t next = i + 1 < corners ? i + 1 : 0;
      add_edge({on_grid(polygon[2 * i]), on_grid(polygon[2 * i + 1])},
               {on_grid(polygon[2 * next]), on_grid(polygon[2 * next + 1])});
    }
  }

  Rle rle() {
    std::sort(places_.begin(), places_.end());
    std::vector<uint32_t> edges;
    const auto pixels = static_cast<uint32_t>(height_ * width_);
    for (const uint32_t place : places_) {
      if (place == pixels) break;
      // Two crossings at one place turn nothing.
      if (!edges.empty() && edges.back() == place) {
        edges.pop_back();
      } else {
        edges.push_back(place);
      }
    }
    return rle_of_runs(height_, width_, edges);
  }

 private:
  void add_edge(GridPoint a, GridPoint b) {
    const int64_t across = std::abs(a.x - b.x);
    const int64_t down = std::abs(a.y - b.y);
    if (across == 0) return;  // it crosses no column
    if (across >= down) {
      if (a.x > b.x) std::swap(a, b);
      add_flat_edge(a, b);
    } else {
      if (a.y > b.y) std::swap(a, b);
      add_steep_edge(a, b);
    }
  }

  /// Columns whose middle lies in [begin, end) on the grid.
  template <typename Visit>
  void for_each_column(int64_t begin, int64_t end, const Visit& visit) {
    const int64_t first = std::max<int64_t>(0, ceil_of_quotient(begin - kMiddle, kFine));
    const int64_t last = std::min(width_, ceil_of_quotient(end - kMiddle, kFine));
    for (int64_t column = first; column < last; ++column) visit(column, column * kFine + kMiddle);
  }

  /// Goes to the right, a step on the grid at a time; the height of each point is rounded.
  void add_flat_edge(GridPoint a, GridPoint b) {
    const double slope = static_cast<double>(b.y - a.y) / static_cast<double>(b.x - a.x);
    const auto y_at = [&](int64_t step) {
      return static_cast<int64_t>(static_cast<double>(a.y) + slope * static_cast<double>(step) + 0.5);
    };
    for_each_column(a.x, b.x, [&](int64_t column, int64_t middle) {
      add_crossing(column, std::min(y_at(middle - a.x), y_at(middle - a.x + 1)));
    });
  }

  /// Goes down, a step at a time; the place of each point across is rounded, and moves by at most one.
  void add_steep_edge(GridPoint a, GridPoint b) {
    const double slope = static_cast<double>(b.x - a.x) / static_cast<double>(b.y - a.y);
    const int64_t steps = b.y - a.y;
    const auto x_at = [&](int64_t step) {
      return static_cast<int64_t>(static_cast<double>(a.x) + slope * static_cast<double>(step) + 0.5);
    };
    const bool to_the_right = slope > 0;
    const int64_t begin = to_the_right ? x_at(0) : x_at(steps);
    const int64_t end = to_the_right ? x_at(steps) : x_at(0);
    for_each_column(begin, end, [&](int64_t column, int64_t middle) {
      const auto is_before = [&](int64_t step) { return to_the_right ? x_at(step) <= middle : x_at(step) > middle; };
      // The last step before the crossing: about here, and rounding decides.
      const double guess = (static_cast<double>(middle - a.x) + 0.5) / slope;
      int64_t step = std::clamp(static_cast<int64_t>(guess), int64_t{0}, steps - 1);
      while (step > 0 && !is_before(step)) --step;
      while (step + 1 < steps && is_before(step + 1)) ++step;
      add_crossing(column, a.y + step);
    });
  }

  void add_crossing(int64_t column, int64_t y) {
    TW_REQUIRE(places_.size() < kMostCrossings, "the outline of a polygon crosses columns more than ", kMostCrossings,
               " times");
    const int64_t row = std::clamp(ceil_of_quotient(y - kMiddle, kFine), int64_t{0}, height_);
    places_.push_back(static_cast<uint32_t>(column * height_ + row));
  }

  int64_t height_, width_;
  std::vector<uint32_t> places_;
};

}  // namespace

Rle Rle::from_polygons(int64_t height, int64_t width, std::span<const Polygon> polygons) {
  require_mask_size(height, width);
  std::vector<Rle> masks;
  for (const Polygon& polygon : polygons) {
    Crossings crossings(height, width);
    crossings.add(polygon);
    masks.push_back(crossings.rle());
  }
  if (masks.empty()) return Rle(height, width);
  return masks.size() == 1 ? masks.front() : united(masks);
}

Rle Rle::from_box(int64_t height, int64_t width, const Box& box) {
  const double right = box.x + box.width;
  const double bottom = box.y + box.height;
  const std::vector<Polygon> corners = {{box.x, box.y, box.x, bottom, right, bottom, right, box.y}};
  return from_polygons(height, width, corners);
}

}  // namespace thalweg::vision
