// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "thalweg/masks.h"
#include "thalweg/vision/rle.h"

namespace thalweg::metrics {
namespace {

void require_plane(const Tensor& mask) {
  TW_REQUIRE(mask.defined() && mask.shape().rank() == 2, "a mask is [height, width], got ", mask.type());
}

/// Each pixel's distance is one more than that of its nearest neighbour. Going over the rows forth and back, with the
/// neighbours that were visited, is exact where diagonal steps cost as much as straight ones.
class DistanceSweep {
 public:
  DistanceSweep(int32_t* distance, int64_t height, int64_t width)
      : distance_(distance), height_(height), width_(width) {}

  void run() {
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t x = 0; x < width_; ++x) relax(y, x, -1);
    }
    for (int64_t y = height_ - 1; y >= 0; --y) {
      for (int64_t x = width_ - 1; x >= 0; --x) relax(y, x, 1);
    }
  }

 private:
  int32_t at(int64_t y, int64_t x) const {
    return y < 0 || x < 0 || y >= height_ || x >= width_ ? 0 : distance_[y * width_ + x];
  }
  /// With the row before (side -1) or after (side 1), and the pixel on that side in the same row.
  void relax(int64_t y, int64_t x, int64_t side) {
    int32_t& own = distance_[y * width_ + x];
    if (own == 0) return;
    const int32_t nearest = std::min({at(y + side, x - 1), at(y + side, x), at(y + side, x + 1), at(y, x + side)});
    own = std::min(own, nearest + 1);
  }

  int32_t* distance_;
  int64_t height_, width_;
};

/// Pixels that both, or either, of two regions have.
struct Counts {
  int64_t both = 0, either = 0;
  void add(bool a, bool b) {
    both += a && b ? 1 : 0;
    either += a || b ? 1 : 0;
  }
  /// Of two empty regions 1: they are the same.
  double ratio() const { return either == 0 ? 1.0 : static_cast<double>(both) / static_cast<double>(either); }
};

/// The place of the largest score of each pixel.
Tensor largest_class(const Tensor& scores) {
  const Tensor values = scores.to(DType::kF32);
  const int64_t pixels = scores.shape()[1] * scores.shape()[2];
  Tensor best = Tensor::zeros(DType::kI64, {scores.shape()[1], scores.shape()[2]});
  for (int64_t p = 0; p < pixels; ++p) {
    int64_t& chosen = best.data<int64_t>()[p];
    for (int64_t c = 1; c < scores.shape()[0]; ++c) {
      if (values.data<float>()[c * pixels + p] > values.data<float>()[chosen * pixels + p]) chosen = c;
    }
  }
  return best;
}

Tensor above(const Tensor& values, double threshold) {
  const Tensor numbers = values.to(DType::kF64);
  const int rank = values.shape().rank();
  Tensor result(DType::kI64, {values.shape()[rank - 2], values.shape()[rank - 1]});
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    result.data<int64_t>()[i] = numbers.data<double>()[i] > threshold ? 1 : 0;
  }
  return result;
}

bool has_two_kinds(const Tensor& output) {
  return is_floating(output.dtype()) ? output.shape().rank() == 2 || output.shape()[0] == 1
                                     : output.dtype() == DType::kBool;
}

Tensor mask_of(const Tensor& classes, int64_t wanted) {
  Tensor mask(DType::kU8, classes.shape());
  for (int64_t i = 0; i < mask.num_elements(); ++i) {
    mask.data<uint8_t>()[i] = classes.data<int64_t>()[i] == wanted ? 1 : 0;
  }
  return mask;
}

}  // namespace

Tensor distance_inside(const Tensor& mask) {
  require_plane(mask);
  const int64_t height = mask.shape()[0];
  const int64_t width = mask.shape()[1];
  Tensor distance(DType::kI32, mask.shape());
  const auto furthest = static_cast<int32_t>(std::min(height, width)) + 1;
  const Tensor inside = mask.to(DType::kF64);
  for (int64_t i = 0; i < mask.num_elements(); ++i) {
    distance.data<int32_t>()[i] = inside.data<double>()[i] != 0 ? furthest : 0;
  }
  DistanceSweep(distance.data<int32_t>(), height, width).run();
  return distance;
}

int64_t boundary_width(int64_t height, int64_t width, double ratio) {
  return vision::boundary_width(height, width, ratio);
}

std::optional<MaskOverlap> overlap(const Tensor& a, const Tensor& b, std::span<const double> ratios) {
  require_plane(a);
  TW_REQUIRE(b.defined() && a.shape() == b.shape(), "masks of different shapes cannot be compared: ", a.shape(),
             " and ", b.shape());
  const Tensor inside_a = distance_inside(a);
  const Tensor inside_b = distance_inside(b);
  const int32_t* da = inside_a.data<int32_t>();
  const int32_t* db = inside_b.data<int32_t>();
  Counts whole;
  for (int64_t i = 0; i < a.num_elements(); ++i) whole.add(da[i] > 0, db[i] > 0);
  if (whole.either == 0) return std::nullopt;
  MaskOverlap result{whole.ratio(), {}};
  for (const double ratio : ratios) {
    const int64_t width = boundary_width(a.shape()[0], a.shape()[1], ratio);
    Counts boundary;
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      boundary.add(da[i] > 0 && da[i] <= width, db[i] > 0 && db[i] <= width);
    }
    result.boundary_iou.push_back(boundary.ratio());
  }
  return result;
}

Tensor class_map(const Tensor& output, double threshold) {
  const int rank = output.shape().rank();
  TW_REQUIRE(rank == 2 || rank == 3, "a segmentation is [height, width] or [classes, height, width], got ",
             output.type());
  if (rank == 3 && output.shape()[0] > 1) return largest_class(output);
  if (is_floating(output.dtype())) return above(output, threshold);
  return output.to(DType::kI64).reshaped({output.shape()[rank - 2], output.shape()[rank - 1]});
}

void SegmentationOverlap::add(const Tensor& a, const Tensor& b, double threshold) {
  const Tensor classes_a = class_map(a, threshold);
  const Tensor classes_b = class_map(b, threshold);
  TW_REQUIRE(classes_a.shape() == classes_b.shape(),
             "segmentations of different sizes cannot be compared: ", classes_a.shape(), " and ", classes_b.shape());
  std::set<int64_t> classes = {1};
  if (!has_two_kinds(a)) {
    classes.clear();
    for (const Tensor& map : {classes_a, classes_b}) {
      classes.insert(map.data<int64_t>(), map.data<int64_t>() + map.num_elements());
    }
  }
  for (const int64_t one : classes) {
    const auto found = overlap(mask_of(classes_a, one), mask_of(classes_b, one), ratios_);
    if (!found.has_value()) continue;
    ++pairs_;
    sum_.iou += found->iou;
    for (size_t i = 0; i < ratios_.size(); ++i) sum_.boundary_iou[i] += found->boundary_iou[i];
  }
}

MaskOverlap SegmentationOverlap::mean() const {
  MaskOverlap result = sum_;
  const auto count = static_cast<double>(std::max<int64_t>(pairs_, 1));
  result.iou /= count;
  for (double& value : result.boundary_iou) value /= count;
  return result;
}

}  // namespace thalweg::metrics
