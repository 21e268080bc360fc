// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/sampler.h"

#include <algorithm>
#include <numeric>

#include "data/random.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

void shuffle_all(std::vector<int64_t>& order, Random& random) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

/// A window slides over the order; a random one of its samples is handed out and the next sample takes its place.
void shuffle_window(std::vector<int64_t>& order, size_t window, Random& random) {
  std::vector<int64_t> held(order.begin(), order.begin() + static_cast<ptrdiff_t>(window));
  for (size_t i = 0; i + window < order.size(); ++i) {
    const size_t chosen = random.below(window);
    const int64_t following = order[i + window];
    order[i] = held[chosen];
    held[chosen] = following;
  }
  shuffle_all(held, random);
  std::copy(held.begin(), held.end(), order.end() - static_cast<ptrdiff_t>(window));
}

}  // namespace

BatchSampler::BatchSampler(int64_t size, const SamplerOptions& options) : size_(size), options_(options) {
  TW_REQUIRE(size > 0, "there are no samples to train on");
  TW_REQUIRE(options.batch_size > 0, "batch size must be positive, got ", options.batch_size);
  TW_REQUIRE(options.shuffle_window >= 0, "the shuffle window must not be negative, got ", options.shuffle_window);
  TW_REQUIRE(batches_per_epoch() > 0, "a dataset of ", size, " samples has no full batch of ", options.batch_size,
             ": use a smaller batch or keep the last one");
  TW_REQUIRE(options.share.parts >= 1 && options.share.part >= 0 && options.share.part < options.share.parts, "part ",
             options.share.part, " of ", options.share.parts, " is no share of a batch");
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
  order_.resize(static_cast<size_t>(size_));
  std::iota(order_.begin(), order_.end(), int64_t{0});
  arranged_epoch_ = position_.epoch;
  if (!options_.shuffle) return;
  Random random(options_.seed, static_cast<uint64_t>(position_.epoch));
  if (options_.shuffle_window > 0 && options_.shuffle_window < size_) {
    shuffle_window(order_, static_cast<size_t>(options_.shuffle_window), random);
  } else {
    shuffle_all(order_, random);
  }
}

int64_t BatchSampler::batch_samples() const {
  return std::min(options_.batch_size, size_ - position_.batch * options_.batch_size);
}

std::span<const int64_t> BatchSampler::next() {
  arrange();
  const int64_t samples = batch_samples();
  const auto [part, parts] = options_.share;
  const auto first_of = [&](int64_t p) { return p * (samples / parts) + std::min(p, samples % parts); };
  const int64_t begin = position_.batch * options_.batch_size + first_of(part);
  const int64_t count = first_of(part + 1) - first_of(part);
  seek({position_.epoch, position_.batch + 1});
  return {order_.data() + begin, static_cast<size_t>(count)};
}

}  // namespace thalweg::data
