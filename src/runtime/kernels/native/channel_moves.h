// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "runtime/kernels/simd/lane_moves.h"
#include "runtime/layout.h"

namespace thalweg {

/// Where a channel of a result comes from.
struct ChannelSource {
  int input = 0;
  int64_t channel = 0;
};

/// Concatenations, splits, slices and selections of channels of activations that lie in blocks of channels, padded ones
/// included: each channel of a result is a channel of an input. Blocks that stay whole are copied, the others put
/// together lane by lane.
class ChannelMoves {
 public:
  /// True if such moves are possible for the layout and its element type.
  static bool possible(const Layout& layout);

  /// All layouts have blocks of as many channels, the same batch and the same positions. `sources`: for each result the
  /// source of each of its channels.
  ChannelMoves(const std::vector<Layout>& inputs, const std::vector<Layout>& results,
               const std::vector<std::vector<ChannelSource>>& sources);

  /// A null result is left out.
  void run(std::span<void* const> inputs, std::span<void* const> results, int threads) const;

 private:
  /// A block of an input, by its offset in an image.
  struct Source {
    int input = 0;
    int64_t offset = 0;
  };
  /// A block of a result.
  struct Target {
    int result = 0;
    int64_t offset = 0;     ///< in an image of the result
    size_t first_pick = 0;  ///< among `picks_` and `sources_`
    size_t num_picks = 0;
    bool whole = false;  ///< its only source as it lies
  };

  void add_target(const std::vector<ChannelSource>& channels, size_t first, Target target,
                  const std::vector<Layout>& inputs);
  bool is_whole(const Target& target, const std::vector<ChannelSource>& channels, size_t first,
                const std::vector<Layout>& inputs) const;
  void fill(const Target& target, int64_t image, int64_t position, int64_t positions, std::span<void* const> inputs,
            void* result) const;

  int64_t batch_ = 0, spatial_ = 0, block_ = 0, element_bytes_ = 0;
  std::vector<int64_t> input_image_bytes_, result_image_bytes_;
  std::vector<simd::LanePick> picks_;
  std::vector<Source> sources_;
  std::vector<Target> targets_;
};

}  // namespace thalweg
