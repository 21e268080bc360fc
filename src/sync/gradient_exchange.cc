// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_exchange.h"

namespace thalweg::sync {
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
  const std::span<float> kept(kept_.data() + (bucket.data() - base_), bucket.size());
  encode_with_feedback(*codec_, bucket, kept, encoded_of(bucket));
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
