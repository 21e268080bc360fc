// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/codec.h"
#include "sync/gradient_buckets.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// Adds up buckets of gradients over all workers, in the codec's form, if there is one, with error feedback.
class GradientExchange {
 public:
  explicit GradientExchange(Compression compression) : codec_(Codec::make(compression)) {}

  /// The buckets that follow are these. What was kept stays: buckets depend on the parameters alone.
  void use(const GradientBuckets& buckets);
  /// Before a bucket's exchange, which may be on another thread: encodes it. So the wire is busy with one bucket while
  /// the next is encoded.
  void begin(std::span<float> bucket);
  /// As the communicator's operations of these names; after an all-reduce `end` must follow, on whichever thread.
  comm::Status all_reduce(comm::Communicator& communicator, std::span<float> bucket);
  comm::Status reduce_scatter(comm::Communicator& communicator, std::span<float> bucket);
  void end(std::span<float> bucket);

 private:
  std::byte* encoded_of(std::span<float> bucket);

  std::unique_ptr<Codec> codec_;
  const float* base_ = nullptr;
  std::vector<float> kept_;
  std::vector<std::byte> encoded_;
};

}  // namespace thalweg::sync
