// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/channel_moves.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/native/ranges.h"

namespace thalweg {
namespace {

ChannelBlocking blocking_of(const Layout& layout) {
  ChannelBlocking result;
  TW_REQUIRE(channel_blocking(layout, result, true), "channels do not lie in blocks in ", layout.to_string());
  return result;
}

int64_t image_bytes(const Layout& layout) { return static_cast<int64_t>(layout.bytes()) / layout.shape()[0]; }

}  // namespace

bool ChannelMoves::possible(const Layout& layout) {
  ChannelBlocking blocking;
  if (layout.is_plain() || layout.desc().get_inner_nblks() != 1) return false;
  const size_t bytes = size_of(layout.dtype());
  return channel_blocking(layout, blocking, true) && (blocking.block == 8 || blocking.block == simd::kMostLanes) &&
         (bytes == 1 || bytes == 2 || bytes == 4);
}

ChannelMoves::ChannelMoves(const std::vector<Layout>& inputs, const std::vector<Layout>& results,
                           const std::vector<std::vector<ChannelSource>>& sources) {
  const ChannelBlocking like = blocking_of(results[0]);
  batch_ = like.outer;
  spatial_ = like.spatial;
  block_ = like.block;
  element_bytes_ = static_cast<int64_t>(size_of(results[0].dtype()));
  for (const Layout& input : inputs) input_image_bytes_.push_back(image_bytes(input));
  for (size_t r = 0; r < results.size(); ++r) {
    result_image_bytes_.push_back(image_bytes(results[r]));
    const int64_t blocks = blocking_of(results[r]).blocks;
    for (int64_t b = 0; b < blocks; ++b) {
      Target target;
      target.result = static_cast<int>(r);
      target.offset = b * block_ * spatial_ * element_bytes_;
      add_target(sources[r], static_cast<size_t>(b * block_), target, inputs);
    }
  }
}

void ChannelMoves::add_target(const std::vector<ChannelSource>& channels, size_t first, Target target,
                              const std::vector<Layout>& inputs) {
  target.first_pick = picks_.size();
  const size_t end = std::min(channels.size(), first + static_cast<size_t>(block_));
  for (size_t c = first; c < end; ++c) {
    const ChannelSource& from = channels[c];
    const Source source{from.input, from.channel / block_ * block_ * spatial_ * element_bytes_};
    size_t pick = target.first_pick;
    const auto same = [&](const Source& other) { return other.input == source.input && other.offset == source.offset; };
    while (pick < picks_.size() && !same(sources_[pick])) ++pick;
    if (pick == picks_.size()) {
      picks_.push_back({});
      sources_.push_back(source);
    }
    picks_[pick].lane[c - first] = static_cast<uint32_t>(from.channel % block_);
    picks_[pick].mask[c - first] = ~uint32_t{0};
  }
  target.num_picks = picks_.size() - target.first_pick;
  target.whole = is_whole(target, channels, first, inputs);
  targets_.push_back(target);
}

bool ChannelMoves::is_whole(const Target& target, const std::vector<ChannelSource>& channels, size_t first,
                            const std::vector<Layout>& inputs) const {
  if (target.num_picks != 1) return false;
  const size_t count = std::min(channels.size() - first, static_cast<size_t>(block_));
  for (size_t c = 0; c < count; ++c) {
    if (channels[first + c].channel % block_ != static_cast<int64_t>(c)) return false;
  }
  // Lanes that the result has not must be padding in the source as well, which is zero.
  const ChannelSource& last = channels[first + count - 1];
  const int64_t in_input = inputs[static_cast<size_t>(last.input)].shape()[1];
  return static_cast<int64_t>(count) == block_ || last.channel + 1 == in_input;
}

void ChannelMoves::fill(const Target& target, int64_t image, int64_t position, int64_t positions,
                        std::span<void* const> inputs, void* result) const {
  const int64_t position_bytes = block_ * element_bytes_;
  char* to = static_cast<char*>(result) + image * result_image_bytes_[static_cast<size_t>(target.result)] +
             target.offset + position * position_bytes;
  const void* from[simd::kMostLanes];
  for (size_t k = 0; k < target.num_picks; ++k) {
    const Source& source = sources_[target.first_pick + k];
    const auto input = static_cast<size_t>(source.input);
    from[k] = static_cast<const char*>(inputs[input]) + image * input_image_bytes_[input] + source.offset +
              position * position_bytes;
  }
  if (target.whole) {
    std::memcpy(to, from[0], static_cast<size_t>(positions * position_bytes));
    return;
  }
  simd::move_lanes({picks_.data() + target.first_pick, from, static_cast<int64_t>(target.num_picks), positions, block_,
                    element_bytes_, to});
}

void ChannelMoves::run(std::span<void* const> inputs, std::span<void* const> results, int threads) const {
  const auto blocks = static_cast<int64_t>(targets_.size());
  const int64_t all = batch_ * blocks * spatial_;
  in_ranges(all, all * block_, threads, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t unit = at / spatial_, position = at % spatial_;
      const int64_t positions = std::min(end - at, spatial_ - position);
      const Target& target = targets_[static_cast<size_t>(unit % blocks)];
      void* result = results[static_cast<size_t>(target.result)];
      if (result != nullptr) fill(target, unit / blocks, position, positions, inputs, result);
      at += positions;
    }
  });
}

}  // namespace thalweg
