// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// The most channels of a block.
inline constexpr int kMostLanes = 16;

/// What the lanes of a result take from one block of channels.
struct LanePick {
  /// The lane of the block that each lane of the result takes; any number below the width of a block where it takes
  /// none.
  uint32_t lane[kMostLanes];
  /// All bits set where the lane is taken from this block, otherwise 0.
  uint32_t mask[kMostLanes];
};

/// Each lane of a result is a lane of one of several blocks, the same at all positions, or 0.
struct LaneMoves {
  const LanePick* picks;
  /// The blocks that they pick from, at the first position.
  const void* const* sources;
  int64_t num_picks;
  int64_t positions;
  int64_t block;          ///< channels of a block: 8 or 16
  int64_t element_bytes;  ///< 1, 2 or 4
  void* to;
};
TW_SIMD_FUNCTION(move_lanes, (const LaneMoves& moves), (moves));

}  // namespace thalweg::simd
