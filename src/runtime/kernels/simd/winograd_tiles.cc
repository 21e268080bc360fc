// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/winograd.h"
#include "runtime/kernels/simd/winograd_points.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int kLanes = kBlockLanes;
using V = BlockVector;

/// Walks over tiles in the order of their numbers.
struct TileCursor {
  TileCursor(const WinogradMap& map, int64_t tile) : map_(map) {
    const int64_t per_image = map.tiles_y * map.tiles_x;
    image = tile / per_image;
    row = tile % per_image / map.tiles_x;
    column = tile % map.tiles_x;
  }
  void next() {
    if (++column < map_.tiles_x) return;
    column = 0;
    if (++row < map_.tiles_y) return;
    row = 0;
    ++image;
  }
  int64_t image, row, column;

 private:
  const WinogradMap& map_;
};

/// Where a tile lies in an activation, cut where it reaches over the borders.
template <int extent>
struct Patch {
  Patch(const WinogradMap& map, const TileCursor& cursor, int step) {
    const int64_t y = cursor.row * step + map.origin_y, x = cursor.column * step + map.origin_x;
    top = y < 0 ? static_cast<int>(-y) : 0;
    left = x < 0 ? static_cast<int>(-x) : 0;
    bottom = map.height - y < extent ? static_cast<int>(map.height - y) : extent;
    right = map.width - x < extent ? static_cast<int>(map.width - x) : extent;
    row_stride = map.width * kLanes;
    block_stride = map.height * row_stride;
    first = cursor.image * map.blocks * block_stride + y * row_stride + x * kLanes;
  }
  /// The tile's elements and how far its rows are apart: where they lie if all exist, else as a copy in `edge` that has
  /// zeros beyond the borders.
  const float* find(const float* block, float (&edge)[extent * extent * kLanes], int64_t& stride) const {
    const float* from = block + first;
    if (top == 0 && left == 0 && bottom == extent && right == extent) {
      stride = row_stride;
      return from;
    }
    for (int y = 0; y < extent; ++y) {
      for (int x = 0; x < extent; ++x) {
        const bool inside = y >= top && y < bottom && x >= left && x < right;
        store_vector(edge + (y * extent + x) * kLanes, inside ? load_vector(from + y * row_stride + x * kLanes) : V{});
      }
    }
    stride = extent * kLanes;
    return edge;
  }

  int top, left, bottom, right;
  int64_t row_stride, block_stride;
  int64_t first;  ///< offset of the tile's first element in block 0, which may lie outside
};

inline float* at(const WinogradTiles& tiles, int64_t block, int64_t tile) {
  const int64_t panel = block / tiles.vectors, vector = block % tiles.vectors;
  return tiles.data + panel * tiles.panel_stride + (tile * tiles.vectors + vector) * kLanes;
}

template <int extent>
inline void store_points(const V (&from)[extent][extent], float* to, int64_t point_stride) {
#pragma GCC unroll 6
  for (int y = 0; y < extent; ++y) {
#pragma GCC unroll 6
    for (int x = 0; x < extent; ++x) store_vector(to + (y * extent + x) * point_stride, from[y][x]);
  }
}

template <int m>
void input_tiles(const WinogradMap& map, const float* x, const WinogradRange& range, const WinogradTiles& to) {
  constexpr int extent = m + 2;
  const auto transform = [](const V(&d)[extent], V(&out)[extent]) { WinogradPoints<m>::input(d, out); };
  for (int64_t block = range.first_block; block < range.end_block; ++block) {
    TileCursor cursor(map, range.first_tile);
    for (int64_t t = 0; t < range.tiles; ++t, cursor.next()) {
      const Patch<extent> patch(map, cursor, m);
      float edge[extent * extent * kLanes];
      int64_t stride = 0;
      const float* tile = patch.find(x + block * patch.block_stride, edge, stride);
      V changed[extent][extent];
      transform_square<extent, extent>([=](int i, int j) { return load_vector(tile + i * stride + j * kLanes); },
                                       changed, transform);
      store_points(changed, at(to, block, range.at + t), to.point_stride);
    }
  }
}

template <int m>
void output_adjoint_tiles(const WinogradMap& map, const float* dy, const WinogradRange& range, const WinogradTiles& to,
                          float* sums) {
  constexpr int extent = m + 2;
  const auto transform = [](const V(&y)[m], V(&out)[extent]) { WinogradPoints<m>::output_adjoint(y, out); };
  for (int64_t block = range.first_block; block < range.end_block; ++block) {
    TileCursor cursor(map, range.first_tile);
    for (int64_t t = 0; t < range.tiles; ++t, cursor.next()) {
      const Patch<m> patch(map, cursor, m);
      float edge[m * m * kLanes];
      int64_t stride = 0;
      const float* tile = patch.find(dy + block * patch.block_stride, edge, stride);
      V changed[extent][extent];
      transform_square<m, extent>([=](int i, int j) { return load_vector(tile + i * stride + j * kLanes); }, changed,
                                  transform);
      if (sums != nullptr) {
        V sum = load_vector(sums + block * kLanes);
        for (int y = 0; y < m; ++y) {
          for (int j = 0; j < m; ++j) sum += load_vector(tile + y * stride + j * kLanes);
        }
        store_vector(sums + block * kLanes, sum);
      }
      store_points(changed, at(to, block, range.at + t), to.point_stride);
    }
  }
}

template <int m>
void output_tiles(const WinogradMap& map, const WinogradTiles& from, const WinogradRange& range, const ConvAfter& after,
                  float* y) {
  constexpr int extent = m + 2;
  const auto transform = [](const V(&p)[extent], V(&out)[m]) { WinogradPoints<m>::output(p, out); };
  for (int64_t block = range.first_block; block < range.end_block; ++block) {
    TileCursor cursor(map, range.first_tile);
    for (int64_t t = 0; t < range.tiles; ++t, cursor.next()) {
      const Patch<m> patch(map, cursor, m);
      const float* source = at(from, block - range.first_block, range.at + t);
      const int64_t stride = from.point_stride;
      V out[m][m];
      transform_square<extent, m>([=](int i, int j) { return load_vector(source + (i * extent + j) * stride); }, out,
                                  transform);
      const int64_t first = patch.first + block * patch.block_stride;
      const V bias = after.bias != nullptr ? load_vector(after.bias + block * kLanes) : V{};
      for (int i = 0; i < patch.bottom; ++i) {
        for (int j = 0; j < patch.right; ++j) {
          const int64_t offset = first + i * patch.row_stride + j * kLanes;
          const float* residual = after.residual != nullptr ? after.residual + offset : nullptr;
          finish_vector(after, out[i][j] + bias, residual, y + offset);
        }
        if (!after.goes_over_stored()) continue;
        const float* slope = after.slope == nullptr ? nullptr : after.slope + block * kLanes;
        finish_stored(after, slope, y + first + i * patch.row_stride, int64_t{patch.right} * kLanes);
      }
    }
  }
}

}  // namespace

void winograd_input(int m, const WinogradMap& map, const float* x, WinogradRange range, WinogradTiles to) {
  m == 2 ? input_tiles<2>(map, x, range, to) : input_tiles<4>(map, x, range, to);
}

void winograd_output(int m, const WinogradMap& map, WinogradTiles from, WinogradRange range, const ConvAfter& after,
                     float* y) {
  m == 2 ? output_tiles<2>(map, from, range, after, y) : output_tiles<4>(map, from, range, after, y);
}

void winograd_output_adjoint(int m, const WinogradMap& map, const float* dy, WinogradRange range, WinogradTiles to,
                             float* sums) {
  m == 2 ? output_adjoint_tiles<2>(map, dy, range, to, sums) : output_adjoint_tiles<4>(map, dy, range, to, sums);
}

}  // namespace thalweg::simd::TW_SIMD_NS
