// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/sampler.h"

#include <algorithm>
#include <numeric>

#include "data/random.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

/// A window slides over the order; a random one of its samples is handed out and the next sample takes its place.
void shuffle_window(std::vector<int64_t>& order, size_t window, Random& random) {
  std::vector<int64_t> held(order.begin(), order.begin() + static_cast<ptrdiff_t>(window));
  for (size_t i = 0; i + window < order.size(); ++i) {
    const size_t chosen = random.below(window);
    const int64_t following = order[i + window];
    order[i] = held[chosen];
    held[chosen] = following;
  }
  shuffle(held, random);
  std::copy(held.begin(), held.end(), order.end() - static_cast<ptrdiff_t>(window));
}

/// Rows of a batch that worker `share.part` takes: the first ones take one more each.
int64_t part_size(int64_t rows, const Share& share) {
  return rows / share.parts + (share.part < rows % share.parts ? 1 : 0);
}

/// Workers with samples of their own draw different orders.
uint64_t seed_of(const SamplerOptions& options) {
  constexpr uint64_t kOddConstant = 0x9e3779b97f4a7c15U;
  return options.share.total > 0 ? options.seed + kOddConstant * static_cast<uint64_t>(options.share.part)
                                 : options.seed;
}

}  // namespace

int64_t own_samples(const Share& share, int64_t batch_size) {
  const int64_t full = share.total / batch_size;
  return full * part_size(batch_size, share) + part_size(share.total % batch_size, share);
}

BatchSampler::BatchSampler(int64_t size, const SamplerOptions& options)
    : size_(options.share.total > 0 ? options.share.total : size), local_(size), options_(options) {
  TW_REQUIRE(size_ > 0, "there are no samples to train on");
  TW_REQUIRE(options.batch_size > 0, "batch size must be positive, got ", options.batch_size);
  TW_REQUIRE(options.shuffle_window >= 0, "the shuffle window must not be negative, got ", options.shuffle_window);
  TW_REQUIRE(batches_per_epoch() > 0, "a dataset of ", size_, " samples has no full batch of ", options.batch_size,
             ": use a smaller batch or keep the last one");
  TW_REQUIRE(options.share.parts >= 1 && options.share.part >= 0 && options.share.part < options.share.parts, "part ",
             options.share.part, " of ", options.share.parts, " is no share of a batch");
  TW_REQUIRE(options.share.total == 0 || size == own_samples(options.share, options.batch_size), "worker ",
             options.share.part, " of ", options.share.parts, " has ", size, " of ", options.share.total,
             " samples, its share is ", own_samples(options.share, options.batch_size));
}

int64_t BatchSampler::batches_per_epoch() const {
  const int64_t full = size_ / options_.batch_size;
  return full + (options_.last_batch == LastBatch::kKeep && size_ % options_.batch_size != 0 ? 1 : 0);
}

void BatchSampler::seek(SamplerPosition position) {
  TW_REQUIRE(position.epoch >= 0 && position.batch >= 0 && position.batch <= batches_per_epoch(), "epoch ",
             position.epoch, ", batch ", position.batch, " is no position in ", batches_per_epoch(), " batches");
  if (position.batch == batches_per_epoch()) position = {position.epoch + 1, 0};
  position_ = position;
}

void BatchSampler::arrange() {
  if (arranged_epoch_ == position_.epoch || (arranged_epoch_ >= 0 && !options_.shuffle)) return;
  order_.resize(static_cast<size_t>(local_));
  std::iota(order_.begin(), order_.end(), int64_t{0});
  arranged_epoch_ = position_.epoch;
  if (!options_.shuffle) return;
  Random random(seed_of(options_), static_cast<uint64_t>(position_.epoch));
  if (options_.shuffle_window > 0 && options_.shuffle_window < local_) {
    shuffle_window(order_, static_cast<size_t>(options_.shuffle_window), random);
  } else {
    shuffle(order_, random);
  }
}

int64_t BatchSampler::batch_samples() const {
  return std::min(options_.batch_size, size_ - position_.batch * options_.batch_size);
}

std::span<const int64_t> BatchSampler::next() {
  arrange();
  const int64_t samples = batch_samples();
  const Share& share = options_.share;
  const int64_t count = part_size(samples, share);
  // Every batch before this one was full.
  const int64_t begin = share.total > 0 ? position_.batch * part_size(options_.batch_size, share)
                                        : position_.batch * options_.batch_size + share.part * (samples / share.parts) +
                                              std::min<int64_t>(share.part, samples % share.parts);
  seek({position_.epoch, position_.batch + 1});
  return {order_.data() + begin, static_cast<size_t>(count)};
}

}  // namespace thalweg::data
