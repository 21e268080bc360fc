// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "thalweg/graph.h"

namespace thalweg {

/// The two neighbours of a place on one axis of a picture, how much of each it takes, and how fast these shares change
/// with the coordinate. Both indices lie in the picture; what lies outside of it and counts as zero has share 0.
template <typename T>
struct GridPlace {
  int64_t low, high;
  T low_share, high_share;
  T low_slope, high_slope;
};

/// How grid_sample reads along one axis: coordinates from -1 to 1 as places among `size` elements.
template <typename T>
class GridAxis {
 public:
  GridAxis(const Attributes& attrs, int64_t size)
      : size_(size),
        nearest_(attrs.text("mode") == "nearest"),
        align_(attrs.flag("align_corners")),
        zeros_(attrs.text("padding_mode") == "zeros"),
        reflects_(attrs.text("padding_mode") == "reflection") {}

  GridPlace<T> place(T coordinate) const {
    const T last = static_cast<T>(size_ - 1);
    const T scale = align_ ? last / 2 : static_cast<T>(size_) / 2;
    T slope = scale;
    T position = coordinate * scale + last / 2;
    if (reflects_) position = reflected(position, slope);
    if (!zeros_) {
      // At the ends, and where there is no number, the place stays where it is.
      if (!(position > 0 && position < last)) slope = 0;
      position = position > 0 ? std::min(position, last) : T{0};
    }
    // Beyond these there are no neighbours, and an index would not fit. NaN goes there too.
    if (!(position > -2)) position = -2;
    position = std::min(position, static_cast<T>(size_ + 1));
    if (nearest_) {
      const auto index = static_cast<int64_t>(std::nearbyint(position));
      return {inside(index), inside(index), share(index, T{1}), T{0}, T{0}, T{0}};
    }
    const T floor = std::floor(position);
    const auto low = static_cast<int64_t>(floor);
    const T rest = position - floor;
    return {inside(low),          inside(low + 1),    share(low, 1 - rest),
            share(low + 1, rest), share(low, -slope), share(low + 1, slope)};
  }

 private:
  int64_t inside(int64_t index) const { return std::clamp<int64_t>(index, 0, size_ - 1); }
  T share(int64_t index, T whole) const { return index >= 0 && index < size_ ? whole : T{0}; }

  /// Thrown back and forth between the ends: the middles of the outermost elements, or their edges.
  T reflected(T position, T& slope) const {
    const T low = align_ ? T{0} : T{-0.5};
    const T span = align_ ? static_cast<T>(size_ - 1) : static_cast<T>(size_);
    if (span <= 0) {
      slope = 0;
      return 0;
    }
    const T from_low = position - low, distance = std::abs(from_low);
    const T turns = std::floor(distance / span), rest = distance - turns * span;
    const bool is_even = std::fmod(turns, T{2}) == 0;
    if ((from_low < 0) == is_even) slope = -slope;
    return is_even ? low + rest : low + span - rest;
  }

  int64_t size_;
  bool nearest_, align_, zeros_, reflects_;
};

}  // namespace thalweg
