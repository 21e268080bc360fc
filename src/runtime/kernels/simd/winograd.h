// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/channel_blocks.h"
#include "runtime/kernels/simd/conv_after.h"

namespace thalweg::simd {

// The loops of Winograd's convolution F(m x m, 3 x 3) for stride 1, with m = 2 or 4: the map of outputs is cut into
// tiles of m x m, each computed from (m + 2) x (m + 2) inputs. Transforming both tile and weights turns the convolution
// into (m + 2)^2 products of matrices, one per "point", with [tiles, in] x [in, out] elements.
//
//   forward             input -> multiply by weights -> output
//   gradient of data    the same with the gradient as input and the weights turned around
//   gradient of weights input, output_adjoint -> multiply_tiles -> weights_adjoint

/// How an activation is cut into tiles.
struct WinogradMap {
  int64_t blocks;  ///< channel blocks
  int64_t height, width;
  int64_t tiles_y, tiles_x;
  /// Where the first tile begins relative to the map's first element: minus the padding for inputs, 0 for outputs.
  int64_t origin_y, origin_x;
};

/// Transformed tiles: [points][panels][tiles][vectors][lanes], where a panel holds `vectors` channel blocks.
struct WinogradTiles {
  float* data;
  int64_t point_stride, panel_stride;
  int vectors;
};

/// Part of the tiles and channel blocks of a call. Tiles are counted over all images; `first_tile` of the activation
/// is tile `at` of the transformed ones.
struct WinogradRange {
  int64_t first_tile, tiles, at;
  int64_t first_block, end_block;
};

/// Transforms tiles of an input (B^T d B); beyond its borders there are zeros.
TW_SIMD_FUNCTION(winograd_input, (int m, const WinogradMap& map, const float* x, WinogradRange range, WinogradTiles to),
                 (m, map, x, range, to));

/// Transforms products back into outputs (A^T p A). The first block of the range is the first of `from`.
TW_SIMD_FUNCTION(winograd_output,
                 (int m, const WinogradMap& map, WinogradTiles from, WinogradRange range, const ConvAfter& after,
                  float* y),
                 (m, map, from, range, after, y));

/// The adjoint of winograd_output (A dy A^T). Adds the sum of dy per channel to `sums` [blocks * lanes] unless null.
TW_SIMD_FUNCTION(winograd_output_adjoint,
                 (int m, const WinogradMap& map, const float* dy, WinogradRange range, WinogradTiles to, float* sums),
                 (m, map, dy, range, to, sums));

/// Weights [columns][rows][3 x 3][lanes rows][lanes columns], in blocks, and their transformed form
/// [points][panels][rows * lanes][vectors][lanes].
struct WinogradWeights {
  int64_t row_blocks, column_blocks;
  /// The rows of the product are the columns of the weights, and the kernel is turned by 180 degrees: what the gradient
  /// of the data multiplies with. row_blocks and column_blocks are those of the product.
  bool turned;
  int64_t point_stride, panel_stride;
  int vectors;
  /// The adjoint adds up this many copies of the transformed form, `part_stride` floats apart.
  int64_t parts, part_stride;
};
/// Transforms the column blocks [begin, end) of the product, which must belong to one panel (G g G^T).
TW_SIMD_FUNCTION(winograd_weights,
                 (int m, const WinogradWeights& job, const float* w, int64_t begin, int64_t end, float* u),
                 (m, job, w, begin, end, u));
/// The adjoint of winograd_weights, for weights that are not turned.
TW_SIMD_FUNCTION(winograd_weights_adjoint,
                 (int m, const WinogradWeights& job, const float* u, int64_t begin, int64_t end, float* w),
                 (m, job, u, begin, end, w));

/// One point and one panel of columns.
struct WinogradProduct {
  const float* left;  ///< multiply: [k / lanes][tiles][lanes], blocks `left_stride` floats apart
  int64_t left_stride;
  const float* right;  ///< rows of a panel, `panel_vectors * lanes` floats each
  float* result;       ///< rows of a panel
  int64_t tiles;
  int64_t channel_blocks;  ///< of the left side
  int vectors;             ///< of the panel that exist; its rows keep their full stride
  /// multiply: a panel of the same size that is wanted next and is brought into the caches meanwhile, or null.
  const float* next_right;
  bool accumulate;  ///< multiply_tiles: add to the result
};
/// result [tiles, columns] = left [tiles, channels] * right [channels, columns].
TW_SIMD_FUNCTION(winograd_multiply, (const WinogradProduct& product), (product));
/// result [channels, columns] = left [tiles, channels] transposed * right [tiles, columns].
TW_SIMD_FUNCTION(winograd_multiply_tiles, (const WinogradProduct& product), (product));

}  // namespace thalweg::simd
