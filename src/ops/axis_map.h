// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "ops/axis_entry.h"
#include "thalweg/graph.h"

namespace thalweg {

/// For each target position along one spatial dimension, the source positions that it is computed from. Pools and
/// interpolation are products of one such map per dimension, and their gradients use the transposed maps.
struct AxisMap {
  int64_t sources = 1;
  int64_t taps = 1;             ///< tap numbers lie in [0, taps)
  std::vector<int32_t> begin;   ///< entries of target t: [begin[t], begin[t + 1])
  std::vector<AxisEntry> list;  ///< sorted by target

  int64_t targets() const { return static_cast<int64_t>(begin.size()) - 1; }
  /// From sources to targets.
  AxisMap transposed() const;
};

/// Depth, height, width; dimensions that the op does not have map one position to itself.
using AxisMaps = std::array<AxisMap, 3>;

/// Output to input of a max_pool, avg_pool, adaptive_* or interpolate whose attributes are given, for an input and
/// output of these shapes.
AxisMaps pool_maps(const Attributes& attrs, const Shape& x, const Shape& y);
AxisMaps interpolation_maps(const Attributes& attrs, const Shape& x, const Shape& y);

/// What such a node, or its gradient, computes its output from.
AxisMaps spatial_maps(const Node& node);

}  // namespace thalweg
