// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/ring_link.h"

#include <algorithm>
#include <cstring>

namespace thalweg::comm {
namespace {

constexpr size_t kCapacity = RingMemory::kCapacity;

/// The counters belong to the peer as well: one that has gone wild must not lead outside of the ring.
bool plausible(uint64_t written, uint64_t read) { return written - read <= kCapacity; }

void copy_in(RingMemory& ring, uint64_t position, const void* data, size_t bytes) {
  const size_t start = position % kCapacity;
  const size_t first = std::min(bytes, kCapacity - start);
  std::memcpy(ring.bytes + start, data, first);
  std::memcpy(ring.bytes, static_cast<const std::byte*>(data) + first, bytes - first);
}

void copy_out(const RingMemory& ring, uint64_t position, void* data, size_t bytes) {
  const size_t start = position % kCapacity;
  const size_t first = std::min(bytes, kCapacity - start);
  std::memcpy(data, ring.bytes + start, first);
  std::memcpy(static_cast<std::byte*>(data) + first, ring.bytes, bytes - first);
}

}  // namespace

IoResult RingLink::write_some(std::span<const iovec> pieces) {
  const uint64_t read = out_.read.load(std::memory_order_acquire);
  const uint64_t begin = out_.written.load(std::memory_order_relaxed);
  if (!plausible(begin, read)) return {0, "the ring in shared memory is damaged"};
  uint64_t position = begin;
  for (const iovec& piece : pieces) {
    const size_t bytes = std::min(piece.iov_len, static_cast<size_t>(kCapacity - (position - read)));
    copy_in(out_, position, piece.iov_base, bytes);
    position += bytes;
  }
  if (position == begin) return {};
  out_.written.store(position, std::memory_order_release);
  bell_.increment();
  return {static_cast<size_t>(position - begin), {}};
}

IoResult RingLink::read_some(void* data, size_t bytes) {
  const uint64_t written = in_.written.load(std::memory_order_acquire);
  const uint64_t position = in_.read.load(std::memory_order_relaxed);
  if (!plausible(written, position)) return {0, "the ring in shared memory is damaged"};
  const size_t taken = std::min(bytes, static_cast<size_t>(written - position));
  if (taken == 0) return {};
  copy_out(in_, position, data, taken);
  in_.read.store(position + taken, std::memory_order_release);
  bell_.increment();
  return {taken, {}};
}

}  // namespace thalweg::comm
