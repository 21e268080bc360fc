// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/conv_geometry.h"
#include "runtime/kernel.h"
#include "runtime/kernels/simd/winograd.h"

namespace thalweg {

/// A 3x3 convolution of stride 1 as the Winograd kernels see it: tiles of m x m outputs, channels in blocks of a
/// vector. Forward, `in` is x and `out` is y; for the gradient of the data they are dy and dx; for the gradient of the
/// weights x and y again.
struct WinogradShape {
  int m = 4;
  int lanes = 16;
  int panel_vectors = 4;
  int64_t batch = 0;
  simd::WinogradMap in{}, out{};

  int64_t points() const { return int64_t{m + 2} * (m + 2); }
  int64_t tiles() const { return batch * out.tiles_y * out.tiles_x; }
  int64_t panels() const { return (out.blocks + panel_vectors - 1) / panel_vectors; }
  int64_t panel_floats() const { return int64_t{panel_vectors} * lanes; }
  /// Vectors of a panel that hold channels: fewer in the last one.
  int vectors_of(int64_t panel) const;
  /// The transformed weights: [points][panels][in channels][panel]; turned for the gradient of the data.
  simd::WinogradWeights weights(bool turned) const;
  int64_t weights_floats() const { return points() * panels() * in.blocks * lanes * panel_floats(); }
};

enum class WinogradPass { kForward, kData, kWeights };

WinogradShape winograd_shape(const ConvGeometry& geometry, WinogradPass pass, int m);

/// The tile size m that a model of costs takes for the convolution (or gradient) of a node that the kernels can
/// compute; 0 if the direct method is likely to be as fast, unless it is to be used `always`. Depends on shapes alone,
/// so that two runs give the same bits.
int winograd_by_rule(const ConvGeometry& geometry, WinogradPass pass, bool always = false);
/// The same; 0, with the reason, also if the kernels cannot compute it with the accuracy that is wanted.
int choose_winograd(const KernelRequest& request, WinogradPass pass, std::string& declined);
/// True if the kernels can compute the node at all. Else `declined` says why.
bool winograd_computes(const Node& node, std::string& declined);
/// True if the kernels can compute the node with the accuracy that is wanted, however fast. Else `declined` says why.
bool winograd_possible(const KernelRequest& request, WinogradPass pass, int m, std::string& declined);

/// Layouts that the kernels ask for.
Layout winograd_activation_layout(const TensorType& type, int lanes);
Layout winograd_weights_layout(const TensorType& type, int lanes);

/// How the tiles are worked off: in blocks of `tiles`, `panels` panels of output channels at a time. A block belongs to
/// one thread, or is shared by all if the transformed tiles of one thread's block would be too few to pay for reading
/// the weights.
struct WinogradBlocking {
  bool shared = false;
  int64_t tiles = 0;
  int64_t panels = 1;
};
WinogradBlocking winograd_blocking(const WinogradShape& shape, WinogradPass pass, int threads);

/// A tile size and how tiles of that size are worked off.
struct WinogradChoice {
  int m = 4;
  WinogradBlocking blocking;
};
/// Choices worth measuring: for each tile size the blocks that the rule makes, and for the large ones half and twice as
/// many tiles. None if the direct method is sure to be faster.
std::vector<WinogradChoice> winograd_choices(const Node& node, WinogradPass pass, int threads);

/// The threads that work on one block.
struct WinogradTeam {
  int rank = 0;
  int size = 1;

  int64_t begin(int64_t count) const { return count * rank / size; }
  int64_t end(int64_t count) const { return count * (rank + 1) / size; }
  /// Waits for the others; to be called by all threads of the parallel region.
  void wait() const;
};

/// What one thread does in a parallel region: the tiles [first, end) in blocks, with its team, in buffer `buffer`.
struct WinogradShare {
  WinogradTeam team;
  int64_t first = 0;
  int64_t end = 0;
  int buffer = 0;
};
WinogradShare winograd_share(const WinogradShape& shape, const WinogradBlocking& blocking);

/// Transformed tiles for `tiles` tiles of `blocks` channel blocks, `vectors` of them side by side.
simd::WinogradTiles winograd_tiles(const WinogradShape& shape, int64_t blocks, int vectors, int64_t tiles);
/// Floats that they take.
int64_t winograd_tiles_floats(const WinogradShape& shape, const simd::WinogradTiles& tiles);

}  // namespace thalweg
