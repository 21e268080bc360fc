// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>

#include "thalweg/error.h"
#include "vision/runs.h"

namespace thalweg::vision {
namespace {

/// Takes a mask's columns from left to right, each as its runs, and leaves the pixels that are further than `margin`
/// from the outside: those of whose column, and of the `margin` columns on either side, as many pixels above and below
/// are inside too.
class Erosion {
 public:
  Erosion(int64_t height, int64_t margin) : height_(height), margin_(margin), streaks_(static_cast<size_t>(height)) {}

  /// Within a column.
  void add_run(int64_t column, int64_t begin, int64_t end) {
    begin += margin_;
    end -= margin_;
    for (int64_t y = begin; y < end; ++y) {
      Streak& streak = streaks_[static_cast<size_t>(y)];
      streak.length = streak.last == column - 1 ? streak.length + 1 : 1;
      streak.last = column;
      if (streak.length > 2 * margin_) keep(static_cast<uint32_t>((column - margin_) * height_ + y));
    }
  }

  /// What is left, as Rle::runs_inside has it.
  const std::vector<uint32_t>& runs() const { return runs_; }

 private:
  /// So many columns, up to `last`, have a row inside without a gap.
  struct Streak {
    int64_t length = 0;
    int64_t last = -2;
  };

  /// Pixels come in order.
  void keep(uint32_t pixel) {
    if (runs_.empty() || runs_.back() != pixel) {
      runs_.push_back(pixel);
      runs_.push_back(pixel);
    }
    runs_.back() = pixel + 1;
  }

  int64_t height_, margin_;
  std::vector<Streak> streaks_;
  std::vector<uint32_t> runs_;
};

}  // namespace

int64_t boundary_width(int64_t height, int64_t width, double ratio) {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  return std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(ratio * std::sqrt(h * h + w * w))));
}

Rle boundary(const Rle& mask, double ratio) {
  TW_REQUIRE(ratio >= 0.0 && ratio <= 1.0, "a dilation ratio is in [0, 1], not ", ratio);
  const int64_t height = mask.height();
  Erosion erosion(height, boundary_width(height, mask.width(), ratio));
  const std::vector<uint32_t> runs = mask.runs_inside();
  for (size_t i = 0; i < runs.size(); i += 2) {
    for (int64_t at = runs[i]; at < runs[i + 1];) {
      const int64_t column = at / height;
      const int64_t end = std::min<int64_t>(runs[i + 1], (column + 1) * height);
      erosion.add_run(column, at - column * height, end - column * height);
      at = end;
    }
  }
  // What is left lies within the mask, so places that both have cancel out.
  std::vector<uint32_t> edges;
  std::set_symmetric_difference(runs.begin(), runs.end(), erosion.runs().begin(), erosion.runs().end(),
                                std::back_inserter(edges));
  return rle_of_runs(height, mask.width(), edges);
}

}  // namespace thalweg::vision
