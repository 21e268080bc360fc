// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// The product of a matrix whose columns lie in channel blocks with one panel of another: what convolutions by
// Winograd's method and by matrix product spend their time in. Included only by the .cc files of this folder (see
// dispatch.h).

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/simd/block_vector.h"

namespace thalweg::simd::TW_SIMD_NS {

/// Floats of a row of a panel.
constexpr int kPanelFloats = kPanelVectors * kBlockLanes;

// Rows of a tile of sums, by its vectors: as many as the registers hold beside a row of the right side and one
// broadcast element of the left.
#if defined(__AVX512F__)
constexpr int kSums = 24;
#else
constexpr int kSums = 12;
#endif

template <int rows, int vectors>
struct Sums {
  BlockVector sum[rows][vectors];

  void clear() {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = BlockVector{};
    }
  }
  /// `from` and `to` are rows of a panel.
  void load(const float* from) {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = load_vector(from + r * kPanelFloats + v * kBlockLanes);
    }
  }
  void store(float* to) const {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) store_vector(to + r * kPanelFloats + v * kBlockLanes, sum[r][v]);
    }
  }
  /// Adds the product of a column of the left side, elements `stride` apart, and a row of the right.
  void add(const float* left, int64_t stride, const float* right) {
    BlockVector row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) row[v] = load_vector(right + v * kBlockLanes);
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] += left[r * stride] * row[v];
    }
  }
};

/// Brings a panel into the second-level cache piece by piece, so that its way from memory hides behind arithmetic.
class PanelPrefetch {
 public:
  /// `panel` may be null.
  PanelPrefetch(const float* panel, int64_t floats, int64_t pieces)
      : next_(panel),
        end_(panel == nullptr ? panel : panel + floats),
        piece_((floats / kLine + pieces - 1) / pieces * kLine) {}
  void piece() {
    const float* end = end_ - next_ < piece_ ? end_ : next_ + piece_;
    for (; next_ < end; next_ += kLine) prefetch_to_l2(next_);
  }

 private:
  /// Floats of a cache line.
  static constexpr int64_t kLine = 16;

  const float* next_;
  const float* end_;
  int64_t piece_;
};

struct PanelProduct {
  const float* left;  ///< [channel_blocks][rows][lanes], blocks `left_stride` floats apart
  int64_t left_stride;
  const float* right;  ///< [channel_blocks * lanes] rows of the panel
  const float* next_right;
  int64_t rows;
  int64_t channel_blocks;
  /// Rows of a panel: sums on their way. May be where `finish` puts them. Not used up to kChunk channels.
  float* partial;
};

/// Channels that are multiplied with all rows before the next: the panel's rows for them stay in a first-level cache of
/// 48 KiB (with AVX-512; 32 KiB otherwise) beside the rows of the left.
constexpr int64_t kChunk = 128;

template <int rows, int vectors, class Finish>
void rows_by_chunk(const PanelProduct& job, int64_t row, int64_t first, int64_t end, PanelPrefetch& prefetch,
                   const Finish& finish) {
  const bool last = end == job.channel_blocks;
  float* partial = job.partial + row * kPanelFloats;
  Sums<rows, vectors> sums;
  first > 0 ? sums.load(partial) : sums.clear();
  if (last) finish.template prepare<rows, vectors>(row);
  const float* right = job.right + first * kBlockLanes * kPanelFloats;
  const float* left = job.left + first * job.left_stride + row * kBlockLanes;
  for (int64_t block = first; block < end; ++block) {
    prefetch.piece();
    // The rows that come next; beyond the last ones it does no harm.
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) prefetch_to_l1(left + (rows + r) * kBlockLanes);
#pragma GCC unroll 4
    for (int c = 0; c < kBlockLanes; ++c) {
      sums.add(left + c, kBlockLanes, right);
      right += kPanelFloats;
    }
    left += job.left_stride;
  }
  last ? finish.template store<rows, vectors>(sums, row) : sums.store(partial);
}

/// Hands each tile of sums to finish.store<rows, vectors>(sums, row), having called finish.prepare<rows, vectors>(row)
/// some time before. The order of the additions depends on nothing but the number of channels.
template <int vectors, class Finish>
void panel_product(const PanelProduct& job, const Finish& finish) {
  constexpr int rows = kSums / vectors;
  constexpr int64_t chunk = kChunk / kBlockLanes;
  const int64_t blocks = job.channel_blocks;
  PanelPrefetch prefetch(job.next_right, blocks * kBlockLanes * kPanelFloats, blocks * ((job.rows + rows - 1) / rows));
  for (int64_t first = 0; first < blocks; first += chunk) {
    const int64_t end = first + chunk < blocks ? first + chunk : blocks;
    int64_t row = 0;
    for (; row + rows <= job.rows; row += rows) rows_by_chunk<rows, vectors>(job, row, first, end, prefetch, finish);
    for (; row + 4 <= job.rows; row += 4) rows_by_chunk<4, vectors>(job, row, first, end, prefetch, finish);
    for (; row < job.rows; ++row) rows_by_chunk<1, vectors>(job, row, first, end, prefetch, finish);
  }
}

/// Calls `function` with the number of vectors of a panel as a constant.
template <class Function>
void with_vectors(int vectors, const Function& function) {
  switch (vectors) {
    case 1: function(std::integral_constant<int, 1>()); break;
    case 2: function(std::integral_constant<int, 2>()); break;
#if defined(__AVX512F__)
    case 3: function(std::integral_constant<int, 3>()); break;
    case 4: function(std::integral_constant<int, 4>()); break;
#endif
    default: break;
  }
}

}  // namespace thalweg::simd::TW_SIMD_NS
