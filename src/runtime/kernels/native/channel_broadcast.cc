// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/channel_broadcast.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

/// Extent `d` of a shape that is aligned to the right of one with `rank` dimensions.
int64_t extent(const Shape& shape, int d, int rank) {
  const int own = d - (rank - shape.rank());
  return own < 0 ? 1 : shape[own];
}

/// The spatial extents are all 1.
bool is_one_position(const Shape& small, int rank) {
  for (int d = 2; d < rank; ++d) {
    if (extent(small, d, rank) != 1) return false;
  }
  return true;
}

bool same_positions(const Shape& small, const Shape& big) {
  for (int d = 2; d < big.rank(); ++d) {
    if (extent(small, d, big.rank()) != big[d]) return false;
  }
  return true;
}

}  // namespace

std::optional<ChannelBroadcast> ChannelBroadcast::of(const Layout& big, const Layout& small) {
  ChannelBroadcast result;
  const int rank = big.shape().rank();
  if (rank < 3 || big.is_plain() || small.shape().rank() > rank || big.dtype() != small.dtype()) return {};
  if (!channel_blocking(big, result.blocking_, true)) return {};
  const int64_t samples = extent(small.shape(), 0, rank), channels = extent(small.shape(), 1, rank);
  if (samples != 1 && samples != big.shape()[0]) return {};
  const bool by_channel = channels == big.shape()[1] && is_one_position(small.shape(), rank);
  const bool by_position = channels == 1 && same_positions(small.shape(), big.shape());
  if (!by_channel && !by_position) return {};
  result.channels_ = big.shape()[1];
  result.size_ = size_of(big.dtype());
  result.per_sample_ = samples != 1;
  result.per_position_ = !by_channel;
  ChannelBlocking own;
  const bool in_order = by_channel && small.shape().rank() == rank && !small.padded() && channel_blocking(small, own);
  result.small_layout_ = in_order ? small : Layout(small.type());
  return result;
}

void ChannelBroadcast::repeat(const void* operand, int64_t unit, int64_t position, int64_t positions,
                              void* piece) const {
  const char* small = static_cast<const char*>(operand);
  const int64_t sample = per_sample_ ? unit / blocking_.blocks : 0;
  const int64_t first_channel = unit % blocking_.blocks * blocking_.block;
  const auto valid = static_cast<size_t>(std::min(blocking_.block, channels_ - first_channel)) * size_;
  const size_t stride = static_cast<size_t>(blocking_.block) * size_;
  for (size_t p = 0; p < static_cast<size_t>(positions); ++p) {
    char* to = static_cast<char*>(piece) + p * stride;
    if (!per_position_) {
      std::memcpy(to, small + static_cast<size_t>(sample * channels_ + first_channel) * size_, valid);
    } else if (position + static_cast<int64_t>(p) < blocking_.spatial) {
      const char* from =
          small + static_cast<size_t>(sample * blocking_.spatial + position + static_cast<int64_t>(p)) * size_;
      for (size_t byte = 0; byte < valid; byte += size_) std::memcpy(to + byte, from, size_);
    }
    std::memset(to + valid, 0, stride - valid);
  }
}

}  // namespace thalweg
