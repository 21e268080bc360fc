// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/layout.h"

namespace thalweg {

/// A value seen as `outer` runs along one axis, each of (extent of the axis) * `unit` consecutive elements.
struct AxisRuns {
  int64_t outer = 0;
  int64_t unit = 0;
  /// Positions along the axis can be told apart only in steps of this many (a channel block).
  int64_t step = 1;
};

/// True if `layout` is such runs along `axis`: always if it is row-major, for channels also if it is blocked or
/// channels-last.
bool axis_runs(const Layout& layout, int axis, AxisRuns& result);

/// The arrangement of `like` for a value of another extent in `axis`; false if there is none without padding.
bool same_arrangement(const Layout& like, const TensorType& type, int axis, Layout& result);

}  // namespace thalweg
