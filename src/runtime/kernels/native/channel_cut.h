// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>

#include "runtime/layout.h"

namespace thalweg {

/// Work below this many elements is not worth waking threads for.
inline constexpr int64_t kParallelElements = 32768;

/// The contiguous range that thread `thread` of `threads` gets of `count` items.
struct Share {
  int64_t begin, end;
  Share(int64_t count, int64_t thread, int64_t threads)
      : begin(count * thread / threads), end(count * (thread + 1) / threads) {}
};

/// An activation cut into pieces that are contiguous in memory: blocks of channels, each in segments of rows (pixels).
/// The cut depends on shapes and the number of threads only, so sums over segments are the same in every run.
class ChannelCut {
 public:
  ChannelCut(const ChannelBlocking& blocking, int threads) {
    // With one element per channel and image, row-major memory is rows of all channels.
    const bool rows_of_all = blocking.blocks == 1 || (blocking.block == 1 && blocking.spatial == 1);
    channels = rows_of_all ? blocking.block * blocking.blocks : blocking.block;
    blocks = rows_of_all ? 1 : blocking.blocks;
    if (rows_of_all) {
      rows_ = blocking.outer * blocking.spatial;
      segments = std::clamp<int64_t>(rows_ / 64, 1, std::max(16, 4 * threads));
    } else {
      rows_ = blocking.outer * blocking.spatial;
      segments = blocking.outer;
    }
  }

  int64_t blocks = 0;
  int64_t segments = 0;  ///< of each block
  int64_t channels = 0;  ///< of each block

  int64_t rows(int64_t segment) const { return rows_ * (segment + 1) / segments - rows_ * segment / segments; }
  /// First element of a piece.
  int64_t offset(int64_t block, int64_t segment) const {
    const int64_t first_row = rows_ * segment / segments;
    if (blocks == 1) return first_row * channels;
    return (first_row * blocks + block * (rows_ / segments)) * channels;
  }
  /// Elements from a piece to the one that is reduced after it, where pieces are short; otherwise 0.
  int64_t ahead(int64_t block, int64_t segment) const {
    if (blocks == 1 || rows(segment) * channels > kShortPiece || segment + 1 == segments) return 0;
    return offset(block, segment + 1) - offset(block, segment);
  }
  int64_t total_channels() const { return blocks * channels; }
  int64_t rows_per_channel() const { return rows_; }
  int64_t elements() const { return rows_ * blocks * channels; }

 private:
  static constexpr int64_t kShortPiece = 4096;
  int64_t rows_ = 0;  ///< over all segments of a block
};

/// Runs `reduce(block, segment)` for all pieces, `combine(block)` once a block is complete, then `apply(block,
/// segment)`. Where there are enough blocks, each is finished before the next, so that `apply` finds it in the cache.
template <typename Reduce, typename Combine, typename Apply>
void reduce_then_apply(const ChannelCut& cut, int threads, Reduce reduce, Combine combine, Apply apply) {
  const int used = cut.elements() < kParallelElements ? 1 : threads;
  if (cut.blocks % used == 0 || cut.blocks >= 8 * used) {
#pragma omp parallel for num_threads(used) schedule(static)
    for (int64_t block = 0; block < cut.blocks; ++block) {
      for (int64_t s = 0; s < cut.segments; ++s) reduce(block, s);
      combine(block);
      for (int64_t s = cut.segments; s-- > 0;) apply(block, s);
    }
    return;
  }
#pragma omp parallel num_threads(used)
  {
    const Share share(cut.blocks * cut.segments, omp_get_thread_num(), omp_get_num_threads());
    for (int64_t i = share.begin; i < share.end; ++i) reduce(i / cut.segments, i % cut.segments);
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t block = 0; block < cut.blocks; ++block) combine(block);
    for (int64_t i = share.end; i-- > share.begin;) apply(i / cut.segments, i % cut.segments);
  }
}

}  // namespace thalweg
