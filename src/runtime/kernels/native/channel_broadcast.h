// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernels/native/ranges.h"
#include "runtime/layout.h"

namespace thalweg {

/// An activation [N, C, spatial...] in blocked or channels-last layout, and an operand that has one element for each
/// channel ([N or 1, C, 1...], as of squeeze-and-excite or a scale) or for each position ([N or 1, 1, spatial...]):
/// the operand is repeated as the activation lies, a piece at a time, so that the activation need not change its
/// layout.
class ChannelBroadcast {
 public:
  /// Nothing if the two are related in another way, or if `big` is row-major, for which there are simpler loops.
  static std::optional<ChannelBroadcast> of(const Layout& big, const Layout& small);

  /// How the operand must lie: as its producer left it where that is the same order of elements, else row-major.
  const Layout& small_layout() const { return small_layout_; }

  const ChannelBlocking& blocking() const { return blocking_; }
  /// True if the operand is the same for all positions of a block of channels of one sample.
  bool same_for_all_positions() const { return !per_position_; }
  /// How many positions the operand is repeated for at a time: some kilobytes, which stay in the first cache.
  int64_t piece_positions() const { return std::clamp<int64_t>(1024 / blocking_.block, 1, blocking_.spatial); }
  /// Writes the operand's elements for `positions` positions from `position` on of unit `unit` (a block of channels of
  /// a sample), of which those beyond the unit's end are left out.
  void repeat(const void* small, int64_t unit, int64_t position, int64_t positions, void* piece) const;

  /// Calls `body(first, count, repeated)` for pieces of the activation, on several threads if there is enough to do:
  /// `repeated` has an element of the operand for each of the `count` elements of the activation from `first` on. Where
  /// the activation is padded it has zeros.
  template <typename Body>
  void each(int threads, const void* small, Body body) const {
    const int64_t positions = blocking_.outer * blocking_.blocks * blocking_.spatial;
    in_ranges(positions, positions * blocking_.block, threads, [&](int64_t, int64_t begin, int64_t end) {
      std::vector<char> piece(static_cast<size_t>(piece_positions() * blocking_.block) * size_);
      int64_t filled_unit = -1;
      for (int64_t at = begin; at < end;) {
        const int64_t unit = at / blocking_.spatial;
        const int64_t unit_end = std::min(end, (unit + 1) * blocking_.spatial);
        const int64_t count = std::min(piece_positions(), unit_end - at);
        // One element for each channel: the piece is the same for all positions of a block.
        if (per_position_ || unit != filled_unit)
          repeat(small, unit, at % blocking_.spatial, piece_positions(), piece.data());
        filled_unit = unit;
        body(at * blocking_.block, count * blocking_.block, static_cast<const void*>(piece.data()));
        at += count;
      }
    });
  }

 private:
  ChannelBlocking blocking_;
  Layout small_layout_;
  int64_t channels_ = 0;
  size_t size_ = 0;  ///< bytes of an element
  bool per_sample_ = false;
  bool per_position_ = false;
};

}  // namespace thalweg
