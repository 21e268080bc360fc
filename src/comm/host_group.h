// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/shared_area.h"
#include "comm/transport.h"

namespace thalweg::comm {

/// Collective operations among the members on one host, through the slots of their shared area. Data passes through in
/// chunks that stay in the caches: memory itself is read once and written once. Each sum is taken in the order of
/// `ranks`' members, once, by the member that owns that part of the chunk.
class HostGroup {
 public:
  /// `ranks` are the ranks of the members, for messages; this one is number `self` among them.
  HostGroup(std::shared_ptr<SharedArea> area, std::vector<int> ranks, int self);

  int size() const { return static_cast<int>(ranks_.size()); }
  int self() const { return self_; }

  Status all_reduce(void* data, size_t count, DType dtype, ReduceOp op, const Deadline& deadline);
  /// Member m ends with part m (part_of over the host's members) reduced.
  Status reduce_scatter(void* data, size_t count, DType dtype, ReduceOp op, const Deadline& deadline);
  Status all_gather(void* data, size_t count, size_t element_bytes, const Deadline& deadline);
  Status broadcast(void* data, size_t bytes, int root, const Deadline& deadline);
  Status barrier(const Deadline& deadline);
  /// As Transport::abort.
  void abort(const std::string& why);
  /// Has counted there what others read of this member's values, and what it reads of theirs.
  void count_in(std::shared_ptr<TrafficCounter> counter) { counter_ = std::move(counter); }

 private:
  /// What one operation does with chunk `index`: every phase sees the slots of all members.
  struct Phases {
    /// Writes to the own slot.
    std::function<void(size_t index, std::byte* own)> put;
    /// Once all have put: reads the slots, may write to the own one.
    std::function<void(size_t index)> combine;
    /// Once all have combined; may be empty.
    std::function<void(size_t index)> take;
  };
  Status run(size_t chunks, const Phases& phases, const Deadline& deadline);
  Status put(size_t index, const Phases& phases, const Deadline& deadline);
  Status finish(size_t index, const Phases& phases, const Deadline& deadline);
  Status wait_all(Signal HostProgress::*signal, uint32_t target, const Deadline& deadline);
  Status wait_one(int member, Signal& signal, uint32_t target, const Deadline& deadline);
  std::byte* slot(int member, size_t index) const;
  /// Of an operation that is through.
  Status counted(Status status, size_t sent, size_t received) const;
  void reduce_range(size_t index, const std::byte* own, Part range, DType dtype, ReduceOp op);

  std::shared_ptr<SharedArea> area_;
  std::vector<int> ranks_;
  int self_;
  std::shared_ptr<TrafficCounter> counter_;
  /// Chunks of all operations before this one.
  uint32_t done_ = 0;
  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;
};

}  // namespace thalweg::comm
