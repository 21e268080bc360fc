// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "base/deadline.h"
#include "comm/traffic.h"
#include "thalweg/comm.h"

namespace thalweg::comm {

/// Users' messages and those of the collectives must not be taken for each other.
enum class TagSpace : uint32_t { kUser = 0, kCollective = 1 };

struct Tag {
  TagSpace space = TagSpace::kCollective;
  uint32_t number = 0;
  uint64_t bits() const { return static_cast<uint64_t>(space) << 32U | number; }
};

/// One message to or from a peer.
struct Transfer {
  enum class Kind { kSend, kReceive };
  Kind kind = Kind::kSend;
  int peer = 0;
  Tag tag;
  /// Not written to when sending.
  std::byte* data = nullptr;
  size_t bytes = 0;

  static Transfer send(int peer, Tag tag, const void* data, size_t bytes) {
    return {Kind::kSend, peer, tag, static_cast<std::byte*>(const_cast<void*>(data)), bytes};
  }
  static Transfer receive(int peer, Tag tag, void* data, size_t bytes) {
    return {Kind::kReceive, peer, tag, static_cast<std::byte*>(data), bytes};
  }
};

/// Moves messages between the members of a group. Messages from one peer with one tag arrive in the order in which they
/// were sent. After a failure nothing more can be sent: part of a message may be on its way.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Carries out all transfers, at the same time, on the calling thread. One call at a time.
  virtual Status run(std::span<const Transfer> transfers, const Deadline& deadline) = 0;
  /// Ends the call under way, and every later one, with kGroupChanged. From any thread.
  virtual void abort(const std::string& why) = 0;
  /// Has what is sent and received counted there.
  void count_in(std::shared_ptr<TrafficCounter> counter) { counter_ = std::move(counter); }

 protected:
  /// Of transfers that are through.
  void count(std::span<const Transfer> transfers) const {
    if (counter_ == nullptr) return;
    for (const Transfer& transfer : transfers) {
      if (transfer.kind == Transfer::Kind::kSend) {
        counter_->sent(transfer.bytes);
      } else {
        counter_->received(transfer.bytes);
      }
    }
  }

 private:
  std::shared_ptr<TrafficCounter> counter_;
};

}  // namespace thalweg::comm
