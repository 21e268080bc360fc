// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// How the normalisation kernels walk over a ChannelRows: a tile that fits the first-level cache at a time, and in it
// one register-wide column of channels after the other, so that what belongs to a channel stays in registers. Included
// only by the .cc files of this folder (see dispatch.h).

#include "runtime/kernels/simd/batch_norm.h"
#include "runtime/kernels/simd/vec.h"

namespace thalweg::simd::TW_SIMD_NS {

constexpr int64_t kTileElements = 2048;
/// Sums are kept in float over so many rows, then added to a double.
constexpr int64_t kRunRows = 128;
constexpr int64_t kMaxColumns = 512;

/// A ChannelRows as it is walked. Where several rows fill a register exactly, they are seen as one.
struct Grid {
  int64_t rows;
  int64_t columns;
  int64_t tail;  ///< elements after the last row
  bool folded;   ///< columns are channels repeated
};

static inline Grid grid_of(const ChannelRows& piece) {
  if (piece.channels >= kLanes || kLanes % piece.channels != 0) return {piece.rows, piece.channels, 0, false};
  const int64_t elements = piece.rows * piece.channels;
  return {elements / kLanes, kLanes, elements % kLanes, true};
}

/// A vector with one element per channel, repeated to the columns of a folded grid.
class PerColumn {
 public:
  PerColumn(const Grid& grid, const ChannelRows& piece, const float* channels) : data_(channels) {
    if (!grid.folded || channels == nullptr) return;
    for (int64_t i = 0; i < kLanes; ++i) lanes_[i] = channels[i % piece.channels];
    data_ = lanes_;
  }
  PerColumn(const PerColumn&) = delete;
  PerColumn& operator=(const PerColumn&) = delete;
  const float* data() const { return data_; }

 private:
  float lanes_[kLanes];
  const float* data_;
};

/// Calls body.column<V>(element, rows, stride, column) over rows [first_row, last_row) and columns [first, last).
template <typename Body>
static inline void walk(const Grid& grid, int64_t first_row, int64_t last_row, int64_t first, int64_t last,
                        const Body& body) {
  const int64_t fit = kTileElements / (last - first);
  const int64_t tile = fit > 1 ? fit : 1;
  for (int64_t row = first_row; row < last_row; row += tile) {
    const int64_t rows = last_row - row < tile ? last_row - row : tile;
    const int64_t at = row * grid.columns;
    int64_t c = first;
    for (; c + kLanes <= last; c += kLanes) body.template column<Vec>(at + c, rows, grid.columns, c);
    for (; c < last; ++c) body.template column<float>(at + c, rows, grid.columns, c);
  }
}

template <typename Body>
static inline void walk_tail(const Grid& grid, const Body& body) {
  for (int64_t i = 0; i < grid.tail; ++i) {
    body.template column<float>(grid.rows * grid.columns + i, 1, grid.columns, i);
  }
}

template <typename Body>
static inline void walk_all(const Grid& grid, const Body& body) {
  walk(grid, 0, grid.rows, 0, grid.columns, body);
  walk_tail(grid, body);
}

/// The two running sums of each column from `first` on.
struct ColumnSums {
  float a[kMaxColumns];
  float b[kMaxColumns];
  int64_t first;
};

/// Walks over everything with `body`, which adds to `sums`, and moves those to the doubles now and then. `b` may be
/// null.
template <typename Body>
static inline void walk_summing(const Grid& grid, const ChannelRows& piece, ColumnSums& sums, const Body& body,
                                double* a, double* b) {
  const auto start = [&](int64_t first, int64_t count) {
    sums.first = first;
    for (int64_t i = 0; i < count; ++i) sums.a[i] = sums.b[i] = 0.0f;
  };
  const auto flush = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t channel = grid.folded ? i % piece.channels : sums.first + i;
      a[channel] += static_cast<double>(sums.a[i]);
      if (b != nullptr) b[channel] += static_cast<double>(sums.b[i]);
    }
  };
  for (int64_t first = 0; first < grid.columns; first += kMaxColumns) {
    const int64_t last = grid.columns - first < kMaxColumns ? grid.columns : first + kMaxColumns;
    for (int64_t row = 0; row < grid.rows; row += kRunRows) {
      start(first, last - first);
      walk(grid, row, grid.rows - row < kRunRows ? grid.rows : row + kRunRows, first, last, body);
      flush(last - first);
    }
  }
  if (grid.tail == 0) return;
  start(0, grid.tail);
  walk_tail(grid, body);
  flush(grid.tail);
}

}  // namespace thalweg::simd::TW_SIMD_NS
