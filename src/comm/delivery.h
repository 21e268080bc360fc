// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <memory>
#include <vector>

#include "comm/traffic.h"

namespace thalweg::comm {

/// What messages of a channel have in common, so that no other's are taken for them.
struct Route {
  /// What the channel's messages are for.
  enum class Use : uint32_t { kChannel = 0, kCollective = 1, kUser = 2 };

  /// The communicator: 0 for that of the whole group; others follow from the lists of ranks they were split by.
  uint64_t context = 0;
  Use use = Use::kChannel;
  uint32_t channel = 0;

  auto operator<=>(const Route&) const = default;
};

/// A message on its way, or one that is waited for. But for `done`, and for what follows from it, its messenger's mutex
/// guards it.
struct Delivery {
  enum class Kind { kSend, kReceive };
  Kind kind = Kind::kSend;
  Route route;
  uint32_t tag = 0;
  /// Of the whole group; kAnybody for a receive.
  int peer = 0;
  /// Where `peer` is kAnybody: who may be meant.
  std::shared_ptr<const std::vector<int>> members;
  int priority = 0;

  /// What is sent, or has come, unless it lies in memory of the caller.
  std::vector<std::byte> bytes;
  /// The caller's memory, `size` bytes; null if it is in `bytes`.
  std::byte* memory = nullptr;
  size_t size = 0;
  /// Who sent it.
  int from = -1;
  std::shared_ptr<TrafficCounter> counter;

  Status status;
  std::atomic<bool> done{false};
  /// Set when it is done, so that whoever waits is told.
  bool* news = nullptr;

  const std::byte* outgoing() const { return memory != nullptr ? memory : bytes.data(); }
  bool may_come_from(int rank) const;
  /// Ends it. Whoever waits has to be told.
  void finish(Status outcome);
  /// "receiving from rank 3 on channel 2, tag 7".
  std::string activity() const;
};

}  // namespace thalweg::comm
