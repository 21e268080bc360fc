// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_exchange.h"

#include <algorithm>
#include <cmath>

#include "tensor/half_loops.h"

namespace thalweg::sync {
namespace {

/// Half-width floating-point numbers.
template <typename Half>
class HalfCodec : public Codec {
 public:
  DType dtype() const override { return dtype_of<Half>; }
  void encode(std::span<const float> values, void* encoded) const override {
    narrow(values.data(), static_cast<Half*>(encoded), values.size());
  }
  void decode(const void* encoded, std::span<float> values) const override {
    widen(static_cast<const Half*>(encoded), values.data(), values.size());
  }
};

/// Elements that stay in the first-level cache while they are encoded and what is lost is found.
constexpr size_t kBlock = 2048;

}  // namespace

std::unique_ptr<Codec> Codec::make(Compression compression) {
  switch (compression) {
    case Compression::kNone: return nullptr;
    case Compression::kBf16: return std::make_unique<HalfCodec<BF16>>();
    case Compression::kF16: return std::make_unique<HalfCodec<F16>>();
  }
  return nullptr;
}

void GradientExchange::use(const GradientBuckets& buckets) {
  if (codec_ == nullptr) return;
  size_t floats = 0;
  base_ = nullptr;
  for (const std::span<float> bucket : buckets.all()) {
    if (base_ == nullptr) base_ = bucket.data();
    floats += bucket.size();
  }
  kept_.resize(floats);
  encoded_.resize(floats * size_of(codec_->dtype()));
}

std::byte* GradientExchange::encoded_of(std::span<float> bucket) {
  return encoded_.data() + static_cast<size_t>(bucket.data() - base_) * size_of(codec_->dtype());
}

void GradientExchange::begin(std::span<float> bucket) {
  if (codec_ == nullptr) return;
  float* kept = kept_.data() + (bucket.data() - base_);
  const size_t element = size_of(codec_->dtype());
  float decoded[kBlock];
  for (size_t begin = 0; begin < bucket.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, bucket.size() - begin);
    const float* fresh = bucket.data() + begin;
    float* lost = kept + begin;
    std::byte* encoded = encoded_of(bucket) + begin * element;
#pragma omp simd
    for (size_t i = 0; i < count; ++i) lost[i] += fresh[i];
    codec_->encode({lost, count}, encoded);
    codec_->decode(encoded, {decoded, count});
    // What is not finite would stay so for ever; the loss tells of it.
#pragma omp simd
    for (size_t i = 0; i < count; ++i) {
      const float difference = lost[i] - decoded[i];
      lost[i] = std::abs(difference) <= std::numeric_limits<float>::max() ? difference : 0.0F;
    }
  }
}

comm::Status GradientExchange::all_reduce(comm::Communicator& communicator, std::span<float> bucket) {
  if (codec_ == nullptr) return communicator.all_reduce(bucket.data(), bucket.size(), DType::kF32);
  return communicator.all_reduce(encoded_of(bucket), bucket.size(), codec_->dtype());
}

comm::Status GradientExchange::reduce_scatter(comm::Communicator& communicator, std::span<float> bucket) {
  if (codec_ == nullptr) return communicator.reduce_scatter(bucket.data(), bucket.size(), DType::kF32);
  comm::Status status = communicator.reduce_scatter(encoded_of(bucket), bucket.size(), codec_->dtype());
  const comm::Part own = comm::part_of(bucket.size(), communicator.size(), communicator.rank());
  end(bucket.subspan(own.begin, own.size()));
  return status;
}

void GradientExchange::end(std::span<float> bucket) {
  if (codec_ != nullptr) codec_->decode(encoded_of(bucket), bucket);
}

}  // namespace thalweg::sync
