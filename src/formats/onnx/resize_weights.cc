// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/resize_weights.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "thalweg/error.h"

namespace thalweg::onnx {
namespace {

/// The place in the input of element `x` of the output.
double original_place(double x, const ResizeAxis& axis, const std::string& coordinates) {
  const auto in = static_cast<double>(axis.in);
  const double out = axis.scale * in;
  if (coordinates == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "align_corners") return out == 1 ? 0.0 : x * (in - 1) / (out - 1);
  if (coordinates == "pytorch_half_pixel") return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
  if (coordinates == "half_pixel_symmetric") {
    const double centre = in / 2;
    return centre * (1 - static_cast<double>(axis.out) / out) + (x + 0.5) / axis.scale - 0.5;
  }
  TW_REQUIRE(coordinates == "tf_crop_and_resize", "unknown coordinate_transformation_mode '", coordinates, "'");
  const double span = (axis.roi_end - axis.roi_begin) * (in - 1);
  return axis.roi_begin * (in - 1) + (out == 1 ? span / 2 : x * span / (out - 1));
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Keys' cubic convolution with coefficient a.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

bool takes_upper(double ratio, const std::string& nearest) {
  if (nearest == "round_prefer_floor") return ratio > 0.5;
  if (nearest == "round_prefer_ceil") return ratio >= 0.5;
  if (nearest == "ceil") return true;
  TW_REQUIRE(nearest == "floor", "unknown nearest_mode '", nearest, "'");
  return false;
}

/// How many elements to each side have weights. Without antialiasing, or when the result is larger, the kernel reaches
/// one or two.
int64_t reach_of(const ResizeAxis& axis, const ResizeMode& mode) {
  const double stretch = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  return static_cast<int64_t>(std::ceil((mode.interpolation == "cubic" ? 2.0 : 1.0) / stretch));
}

/// Weights of the elements around `place`, before those outside of the input are dealt with.
std::vector<ResizeTaps::Weight> around(double place, const ResizeAxis& axis, const ResizeMode& mode) {
  // Also refuses what is not a number, as regions of interest can make it.
  TW_REQUIRE(std::abs(place) < 0x1p52, "an element would come from place ", place, " of the input");
  const double floor = std::floor(place);
  const auto base = static_cast<int64_t>(floor);
  const double ratio = place - floor;
  if (mode.interpolation == "nearest") {
    return {{ratio > 0 && takes_upper(ratio, mode.nearest) ? base + 1 : base, 1.0}};
  }
  const bool is_cubic = mode.interpolation == "cubic";
  TW_REQUIRE(is_cubic || mode.interpolation == "linear", "unknown mode '", mode.interpolation, "'");
  const double stretch = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const int64_t reach = reach_of(axis, mode);
  std::vector<ResizeTaps::Weight> taps;
  double sum = 0;
  for (int64_t i = base - reach + 1; i <= base + reach; ++i) {
    const double distance = (static_cast<double>(i) - place) * stretch;
    const double weight = is_cubic ? cubic(distance, mode.cubic_coefficient) : triangle(distance);
    taps.emplace_back(i, weight);
    sum += weight;
  }
  if (mode.antialias) {
    for (auto& [index, weight] : taps) weight /= sum;
  }
  return taps;
}

}  // namespace

std::vector<ResizeTaps> resize_taps(const ResizeAxis& axis, const ResizeMode& mode) {
  const auto taps_each = static_cast<double>(2 * reach_of(axis, mode));
  const double bytes = static_cast<double>(axis.out) * (sizeof(ResizeTaps) + taps_each * sizeof(ResizeTaps::Weight));
  require_memory(static_cast<size_t>(bytes));
  std::vector<ResizeTaps> all(static_cast<size_t>(axis.out));
  for (size_t x = 0; x < all.size(); ++x) {
    ResizeTaps& taps = all[x];
    const double place = original_place(static_cast<double>(x), axis, mode.coordinates);
    if (mode.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.in - 1))) {
      taps.outside = true;
      continue;
    }
    taps.weights = around(place, axis, mode);
    double inside = 0;
    for (auto& [index, weight] : taps.weights) {
      if (mode.exclude_outside && (index < 0 || index >= axis.in)) weight = 0;
      inside += weight;
      index = std::clamp<int64_t>(index, 0, axis.in - 1);
    }
    if (!mode.exclude_outside) continue;
    for (auto& [index, weight] : taps.weights) weight /= inside;
  }
  return all;
}

}  // namespace thalweg::onnx
