// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "comm/file_descriptor.h"
#include "comm/signal.h"

namespace thalweg::comm {

/// Progress of one member in the collective operations of its host: how many chunks it has put into its slots, and of
/// how many it has combined those of the others.
struct alignas(64) HostProgress {
  Signal put;
  alignas(64) Signal combined;
};

/// A stream of bytes from one member to another.
struct RingMemory {
  static constexpr size_t kCapacity = size_t{256} << 10U;
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
  alignas(64) std::byte bytes[kCapacity];
};

/// Memory that the members of a group on one host share, numbered from 0: slots and counters for their collective
/// operations, rings for each ordered pair, doorbells for each. It has no name in any file system: when the last
/// process that holds it ends, however it ends, it is gone. Pages that are never touched cost nothing.
class SharedArea {
 public:
  static constexpr int kBuffers = 3;
  /// Streams between the same two members that do not share rings: of the collectives, and of the messenger.
  static constexpr int kLanes = 2;
  /// Small enough that the slots of a few members stay in the second-level caches.
  static constexpr size_t kSlotBytes = size_t{256} << 10U;

  /// Throws Error if the system has no such memory.
  static std::shared_ptr<SharedArea> create(int members);
  /// The area that another process has created, for as many members. Throws Error if it is not of that size.
  static std::shared_ptr<SharedArea> open(FileDescriptor descriptor, int members);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  int members() const { return members_; }
  int descriptor() const { return descriptor_.get(); }
  HostProgress& progress(int member);
  /// Rung whenever a ring of that lane to or from the member changes.
  Signal& doorbell(int member, int lane = 0);
  std::byte* slot(int member, uint32_t buffer);
  RingMemory& ring(int from, int to, int lane = 0);

 private:
  SharedArea(FileDescriptor descriptor, int members);

  FileDescriptor descriptor_;
  int members_;
  std::byte* memory_ = nullptr;
};

}  // namespace thalweg::comm
