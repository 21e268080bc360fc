// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "thalweg/data.h"

namespace thalweg::data {
namespace {

/// SplitMix64. std::shuffle and the standard distributions differ between libraries; an order that a checkpoint refers
/// to must not.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  /// Below `bound`, without bias.
  uint64_t below(uint64_t bound) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
  }

 private:
  uint64_t state_;
};

}  // namespace

BatchSampler::BatchSampler(int64_t size, const SamplerOptions& options) : size_(size), options_(options) {
  TW_REQUIRE(size > 0, "there are no samples to train on");
  TW_REQUIRE(options.batch_size > 0, "batch size must be positive, got ", options.batch_size);
  TW_REQUIRE(batches_per_epoch() > 0, "a dataset of ", size, " samples has no full batch of ", options.batch_size,
             ": use a smaller batch or keep the last one");
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
  Random random(Random(options_.seed).next() + static_cast<uint64_t>(position_.epoch) * 0xD1B54A32D192ED03ULL);
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
}

std::span<const int64_t> BatchSampler::next() {
  arrange();
  const int64_t begin = position_.batch * options_.batch_size;
  const int64_t end = std::min(begin + options_.batch_size, size_);
  seek({position_.epoch, position_.batch + 1});
  return {order_.data() + begin, static_cast<size_t>(end - begin)};
}

}  // namespace thalweg::data
