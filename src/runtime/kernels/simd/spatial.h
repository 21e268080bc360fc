// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/axis_entry.h"
#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// One spatial dimension of an AxisMap.
struct SpatialAxis {
  int64_t targets;
  int64_t sources;
  int64_t taps;
  const int32_t* begin;
  const AxisEntry* entries;
};

/// One line of sources along the width from which a line of targets is computed.
struct SpatialLine {
  int64_t offset;  ///< of its first element
  int32_t tap;     ///< of an element whose own tap is 0
  double weight;
};

/// Pools, interpolation and their gradients over memory arranged as [planes][depth][height][width][block] (see
/// ChannelBlocking). A row is one line of targets along the width; rows are independent of each other.
struct SpatialJob {
  SpatialAxis depth;
  SpatialAxis height;
  SpatialAxis width;
  int64_t block;
  bool bf16;        ///< elements are bf16, not f32
  bool byte_index;  ///< `index` is u8, not i32
  const void* source;
  void* target;
  /// max_pool_rows writes it beside the target unless null; max_pool_grad_rows reads it beside the source.
  void* index;
  /// Scratch of the calling thread, for the most lines that one of targets has.
  SpatialLine* lines;
};

/// target = sum of weight * source.
TW_SIMD_FUNCTION(weighted_rows, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));
/// target = largest source, index = its tap.
TW_SIMD_FUNCTION(max_pool_rows, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));
/// target = sum of the sources whose index is the tap that leads to the target.
TW_SIMD_FUNCTION(max_pool_grad_rows, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));

}  // namespace thalweg::simd
