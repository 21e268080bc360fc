// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/messenger.h"
#include "comm/transport.h"

namespace thalweg::comm {

/// A communicator's place at the messenger that all communicators of this member share.
struct Lane {
  std::shared_ptr<Messenger> messenger;
  /// As in Route.
  uint64_t context = 0;
  /// The communicator's members as ranks of the whole group, in order; this one is number `self`.
  std::shared_ptr<const std::vector<int>> ranks;
  int self = 0;
  std::shared_ptr<TrafficCounter> counter;

  bool whole() const { return context == 0; }
  /// -1 for one that does not belong to it.
  int rank_of(int whole_rank) const;
  /// Of the `count`th subgroup with these members (ranks of this communicator).
  Lane part(const std::vector<int>& members, uint64_t count) const;
};

/// The messages of a subgroup's collectives, through the messenger. Several of them serve several threads at once.
class LaneTransport : public Transport {
 public:
  explicit LaneTransport(Lane lane) : lane_(std::move(lane)) {}

  int rank() const override { return lane_.self; }
  int size() const override { return static_cast<int>(lane_.ranks->size()); }
  Status run(std::span<const Transfer> transfers, const Deadline& deadline) override;
  void abort(const std::string& why) override { lane_.messenger->abort(lane_.context, why); }

 private:
  std::shared_ptr<Delivery> begin(const Transfer& transfer);
  /// The failure with ranks of the subgroup, and the time it took.
  Status own(const Failure& failure, const Deadline& deadline) const;

  Lane lane_;
  Status failed_;
};

}  // namespace thalweg::comm
