// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Included only by the .cc files of this folder (see dispatch.h).

#include "runtime/kernels/simd/spatial.h"

namespace thalweg::simd::TW_SIMD_NS {

/// One line of targets: where it lies, and the lines of sources it is computed from.
struct SpatialRow {
  const SpatialJob& job;
  int64_t target;  ///< first element of the line
  const SpatialLine* lines_end;

  SpatialRow(const SpatialJob& j, int64_t row) : job(j), target(row * j.width.targets * j.block) {
    const int64_t b = row % j.height.targets;
    const int64_t a = row / j.height.targets % j.depth.targets;
    const int64_t plane = row / j.height.targets / j.depth.targets;
    const int64_t line_size = j.width.sources * j.block;
    const int64_t source_plane = plane * j.depth.sources * j.height.sources * line_size;
    SpatialLine* line = j.lines;
    for (int32_t d = j.depth.begin[a]; d < j.depth.begin[a + 1]; ++d) {
      const AxisEntry& deep = j.depth.entries[d];
      for (int32_t h = j.height.begin[b]; h < j.height.begin[b + 1]; ++h) {
        const AxisEntry& high = j.height.entries[h];
        line->offset = source_plane + (deep.index * j.height.sources + high.index) * line_size;
        line->tap = static_cast<int32_t>((deep.tap * j.height.taps + high.tap) * j.width.taps);
        line->weight = deep.weight * high.weight;
        ++line;
      }
    }
    lines_end = line;
  }
};

}  // namespace thalweg::simd::TW_SIMD_NS
