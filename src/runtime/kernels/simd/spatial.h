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

/// Targets [first, last) along the width whose sources lie evenly: those of target t begin at base + (t - first) *
/// stride and are `taps`, `step` apart, all of the same weight. Empty where there are none such.
struct EvenTargets {
  int64_t first = 0;
  int64_t last = 0;
  int64_t base = 0;
  int64_t stride = 0;
  int64_t step = 0;
  int64_t taps = 0;
  float weight = 0;
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
  /// For largest_lines and weighted_lines: more scratch, a line of sources as floats; and what is even along the width.
  float* merged = nullptr;
  EvenTargets even = {};
};

/// target = sum of weight * source.
TW_SIMD_FUNCTION(weighted_rows, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));
/// target = largest source, index = its tap.
TW_SIMD_FUNCTION(max_pool_rows, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));
/// target = sum of the sources whose index is the tap that leads to the target.
TW_SIMD_FUNCTION(max_pool_grad_rows, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));

/// The same two without an index, a direction at a time: the lines of sources become one, whose elements lie side by
/// side, and targets are then computed along it. So a window of k x k costs 2k operations an element, and vectors are
/// full also where channels lie far apart.
TW_SIMD_FUNCTION(weighted_lines, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));
TW_SIMD_FUNCTION(largest_lines, (const SpatialJob& job, int64_t begin, int64_t end), (job, begin, end));

}  // namespace thalweg::simd
