// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/gradient_exchange.h"
#include "sync/shard.h"

namespace thalweg::sync {

/// How gradients get to those who own the parameters, and weights from them to all: the topology of an update by
/// owners.
class OwnerExchange {
 public:
  virtual ~OwnerExchange() = default;
  /// What the member of a group owns, and keeps copies of.
  virtual Shard::Place place(comm::Group& group) = 0;
  /// Who has which part.
  virtual ShardSources sources(comm::Group& group) const = 0;
  /// The parts of every bucket that this member hands out.
  virtual std::vector<Piece> own_pieces(comm::Group& group, const GradientBuckets& buckets) const = 0;
  /// Those who own a part of the bucket, or keep a copy of one, end with its sum over all members.
  virtual comm::Status collect(comm::Communicator& communicator, GradientExchange& exchange,
                               std::span<float> bucket) = 0;
  /// Everybody ends with what the owners have.
  virtual comm::Status hand_out(comm::Communicator& communicator, std::span<float> bucket) = 0;
  /// The epoch of the last `place` is over: nothing of its communicator may be kept.
  virtual void release() {}
};

}  // namespace thalweg::sync
