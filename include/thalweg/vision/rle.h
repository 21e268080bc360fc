// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/tensor.h"
#include "thalweg/vision/boxes.h"

namespace thalweg::vision {

/// x0, y0, x1, y1, ... of the corners, in pixels; the last one joins the first.
using Polygon = std::vector<double>;

/// What a mask may have: on a side, and in all.
inline constexpr int64_t kMostMaskSide = 1 << 20;
inline constexpr int64_t kMostMaskPixels = (int64_t{1} << 31) - 1;

/// A mask as run lengths in COCO's form: pixels go down the columns, from left to right, and runs of pixels outside and
/// inside take turns, of which the first, outside, may be empty. All functions that take what comes from files throw
/// Error for sizes and runs that do not fit, before they ask for memory.
class Rle {
 public:
  /// Of no pixels.
  Rle() : Rle(0, 0) {}
  /// Nothing is inside.
  Rle(int64_t height, int64_t width);

  /// The runs add up to all pixels. Empty runs between others are taken out.
  static Rle from_counts(int64_t height, int64_t width, std::span<const int64_t> counts);
  /// COCO's compressed form of the counts: six bits a character.
  static Rle from_text(int64_t height, int64_t width, std::string_view text);
  /// [height, width] of any numbers: what is not 0 is inside.
  static Rle from_mask(const Tensor& mask);
  /// What any of the polygons covers, pixel for pixel as COCO's tools draw them: outlines are drawn on a grid five
  /// times as fine, and a pixel is inside if the middle of its column is between two of its crossings (docs/vision.md).
  static Rle from_polygons(int64_t height, int64_t width, std::span<const Polygon> polygons);
  /// As the polygon of its corners.
  static Rle from_box(int64_t height, int64_t width, const Box& box);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  const std::vector<uint32_t>& counts() const { return counts_; }
  std::string text() const;
  /// u8 [height, width] of 0 and 1.
  Tensor mask() const;
  /// Pixels inside.
  int64_t area() const;
  /// Of the pixels inside; zeros if there is none.
  Box bounding_box() const;
  /// The pixels inside as pairs of first and one past the last, numbered as the runs go.
  std::vector<uint32_t> runs_inside() const;
  bool operator==(const Rle&) const = default;

 private:
  friend Rle rle_of_runs(int64_t height, int64_t width, std::span<const uint32_t> edges);
  int64_t height_ = 0;
  int64_t width_ = 0;
  std::vector<uint32_t> counts_;
};

/// Pixels that one of the masks has, or all of them. They are of one size; there is at least one.
Rle united(std::span<const Rle> masks);
Rle intersected(std::span<const Rle> masks);

/// Intersection over union, or with a crowd region over the area of the detection; 0 if they share nothing. Throws
/// unless they are of one size.
double iou(const Rle& detection, const Rle& truth, bool crowd = false);

/// The width of a boundary in pixels: `ratio` of the diagonal, rounded (halves to even), at least 1.
int64_t boundary_width(int64_t height, int64_t width, double ratio);

/// The pixels of a mask that are no further than boundary_width from its outside, diagonal steps counted as one; beyond
/// the image is outside (Cheng et al., "Boundary IoU", 2021).
Rle boundary(const Rle& mask, double ratio);

}  // namespace thalweg::vision
