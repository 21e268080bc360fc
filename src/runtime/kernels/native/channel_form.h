// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/layout.h"

namespace thalweg {

/// A value seen as `outer` runs along one axis, each of (extent of the axis) * `unit` consecutive elements.
struct AxisRuns {
  int64_t outer = 0;
  int64_t unit = 0;
};

/// True if `layout` is such runs along `axis`: if it is row-major or channels-last, and if it is in blocks of channels
/// along every axis but the channels.
bool axis_runs(const Layout& layout, int axis, AxisRuns& result);

/// An activation [N, C, spatial...] by the dimensions in which it lies: N, blocks of channels, spatial..., channels of
/// a block. Channels-last ones have one block.
struct BlockedDims {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  ///< in bytes
  bool last = false;             ///< channels last
};

/// The type arranged as `like`, which is in blocks or channels-last (see same_arrangement).
BlockedDims blocked_dims(const Layout& like, const TensorType& type);

/// The arrangement of `like`, channels in blocks or last or row-major, for another shape of the same rank; false if
/// `like` is arranged in another way.
bool same_arrangement(const Layout& like, const TensorType& type, Layout& result);

}  // namespace thalweg
