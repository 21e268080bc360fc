// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/host_group.h"

#include <algorithm>
#include <cstring>

#include "comm/copy.h"
#include "comm/reduce.h"

namespace thalweg::comm {
namespace {

/// Up to here every member adds everything up by itself, which saves waiting for the others' parts.
constexpr size_t kReduceAlone = size_t{8} << 10U;
constexpr std::chrono::milliseconds kSlice{100};

/// A buffer cut into pieces that fit a slot.
struct Chunks {
  size_t count = 0;
  size_t size = 0;

  static Chunks of(size_t count, size_t element_bytes) {
    return {count, std::min(count, SharedArea::kSlotBytes / element_bytes)};
  }
  size_t number() const { return size == 0 ? 0 : (count + size - 1) / size; }
  Part range(size_t index) const { return {index * size, std::min(count, (index + 1) * size)}; }
};

}  // namespace

HostGroup::HostGroup(std::shared_ptr<SharedArea> area, std::vector<int> ranks, int self)
    : area_(std::move(area)), ranks_(std::move(ranks)), self_(self) {}

std::byte* HostGroup::slot(int member, size_t index) const {
  return area_->slot(member, (done_ + static_cast<uint32_t>(index)) % SharedArea::kBuffers);
}

Status HostGroup::counted(Status status, size_t sent, size_t received) const {
  if (status.ok() && counter_ != nullptr) {
    counter_->sent(sent);
    counter_->received(received);
  }
  return status;
}

// Chunk k + 1 is put before chunk k is finished, so that nobody waits for the slowest at every phase.
Status HostGroup::run(size_t chunks, const Phases& phases, const Deadline& deadline) {
  for (size_t k = 0; k < chunks; ++k) {
    if (Status status = put(k, phases, deadline); !status) return status;
    if (k == 0) continue;
    if (Status status = finish(k - 1, phases, deadline); !status) return status;
  }
  if (chunks > 0) {
    if (Status status = finish(chunks - 1, phases, deadline); !status) return status;
  }
  done_ += static_cast<uint32_t>(chunks);
  return {};
}

Status HostGroup::put(size_t index, const Phases& phases, const Deadline& deadline) {
  const uint32_t chunk = done_ + static_cast<uint32_t>(index);
  // The slot was last used three chunks ago. Whoever has combined chunk - 2 has taken what it wanted from it.
  if (Status status = wait_all(&HostProgress::combined, chunk - 1, deadline); !status) return status;
  phases.put(index, slot(self_, index));
  area_->progress(self_).put.set(chunk + 1);
  return {};
}

Status HostGroup::finish(size_t index, const Phases& phases, const Deadline& deadline) {
  const uint32_t chunk = done_ + static_cast<uint32_t>(index);
  if (Status status = wait_all(&HostProgress::put, chunk + 1, deadline); !status) return status;
  phases.combine(index);
  area_->progress(self_).combined.set(chunk + 1);
  if (!phases.take) return {};
  if (Status status = wait_all(&HostProgress::combined, chunk + 1, deadline); !status) return status;
  phases.take(index);
  return {};
}

Status HostGroup::wait_all(Signal HostProgress::*signal, uint32_t target, const Deadline& deadline) {
  for (int i = 1; i < size(); ++i) {
    const int member = (self_ + i) % size();
    Status status = wait_one(member, area_->progress(member).*signal, target, deadline);
    if (!status) return status;
  }
  return {};
}

Status HostGroup::wait_one(int member, Signal& signal, uint32_t target, const Deadline& deadline) {
  for (;;) {
    const uint32_t value = signal.value();
    if (reached(value, target)) return {};
    if (aborted_.load(std::memory_order_acquire)) {
      const std::lock_guard<std::mutex> lock(abort_mutex_);
      return Failure{FailureKind::kGroupChanged, -1, abort_reason_, deadline.elapsed()};
    }
    if (deadline.expired()) {
      return Failure{FailureKind::kTimeout, ranks_[static_cast<size_t>(member)],
                     "did not take part in a collective operation through shared memory", deadline.elapsed()};
    }
    signal.wait(value, std::min<std::chrono::nanoseconds>(kSlice, deadline.remaining()));
  }
}

void HostGroup::abort(const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(abort_mutex_);
    if (aborted_.load(std::memory_order_relaxed)) return;
    abort_reason_ = why;
    aborted_.store(true, std::memory_order_release);
  }
  for (int member = 0; member < size(); ++member) {
    area_->progress(member).put.wake_all();
    area_->progress(member).combined.wake_all();
  }
}

/// Reduces bytes [begin, end) of a chunk over all members, in their order, into the own slot. This member's values are
/// still in `own`, and nothing of that range is in its slot.
void HostGroup::reduce_range(size_t index, const std::byte* own, Part range, DType dtype, ReduceOp op) {
  const size_t count = range.size() / size_of(dtype);
  const auto source = [&](int member) { return (member == self_ ? own : slot(member, index)) + range.begin; };
  std::byte* out = slot(self_, index) + range.begin;
  reduce_elements(dtype, op, out, source(0), source(1), count);
  for (int member = 2; member < size(); ++member) reduce_elements(dtype, op, out, out, source(member), count);
}

Status HostGroup::all_reduce(void* data, size_t count, DType dtype, ReduceOp op, const Deadline& deadline) {
  auto* bytes = static_cast<std::byte*>(data);
  const size_t element = size_of(dtype);
  const Chunks chunks = Chunks::of(count, element);
  const bool large = is_large(count * element);
  const auto part = [&](size_t index, int member) {
    const Part inner = part_of(chunks.range(index).size(), size(), member);
    return Part{inner.begin * element, inner.end * element};
  };
  const auto at = [&](size_t index) { return bytes + chunks.range(index).begin * element; };
  const auto total = [&](size_t index) { return chunks.range(index).size() * element; };
  // To each of the others, and from it: everything, or its part of the values and this member's part of the sums.
  const size_t own_part = part_of(count, size(), self_).size() * element;
  const size_t others = static_cast<size_t>(size() - 1);
  Phases phases;
  if (count * element <= kReduceAlone) {
    phases.put = [&](size_t index, std::byte* own) { std::memcpy(own, at(index), total(index)); };
    phases.combine = [&](size_t index) {
      // Not in place: the others still read this member's slot.
      const size_t elements = chunks.range(index).size();
      reduce_elements(dtype, op, at(index), slot(0, index), slot(1, index), elements);
      for (int m = 2; m < size(); ++m) reduce_elements(dtype, op, at(index), at(index), slot(m, index), elements);
    };
    const size_t everything = others * count * element;
    return counted(run(chunks.number(), phases, deadline), everything, everything);
  }
  phases.put = [&](size_t index, std::byte* own) {
    const Part mine = part(index, self_);
    std::memcpy(own, at(index), mine.begin);
    std::memcpy(own + mine.end, at(index) + mine.end, total(index) - mine.end);
  };
  phases.combine = [&](size_t index) {
    const Part mine = part(index, self_);
    reduce_range(index, at(index), mine, dtype, op);
    copy_to_memory(at(index) + mine.begin, slot(self_, index) + mine.begin, mine.size(), large);
  };
  phases.take = [&](size_t index) {
    for (int i = 1; i < size(); ++i) {
      const int member = (self_ + i) % size();
      const Part theirs = part(index, member);
      copy_to_memory(at(index) + theirs.begin, slot(member, index) + theirs.begin, theirs.size(), large);
    }
  };
  const size_t passed = count * element - own_part + others * own_part;
  return counted(run(chunks.number(), phases, deadline), passed, passed);
}

Status HostGroup::reduce_scatter(void* data, size_t count, DType dtype, ReduceOp op, const Deadline& deadline) {
  auto* bytes = static_cast<std::byte*>(data);
  const size_t element = size_of(dtype);
  // Every member puts, of each chunk, the pieces of all parts side by side: piece k of part m lies in place m.
  const size_t piece = std::max<size_t>(1, SharedArea::kSlotBytes / element / ranks_.size());
  const size_t longest = part_of(count, size(), 0).size();
  const auto range = [&](size_t index, int member) {
    const Part all = part_of(count, size(), member);
    const size_t begin = std::min(all.end, all.begin + index * piece);
    return Part{begin, std::min(all.end, begin + piece)};
  };
  Phases phases;
  phases.put = [&](size_t index, std::byte* own) {
    for (int member = 0; member < size(); ++member) {
      const Part theirs = range(index, member);
      std::byte* place = own + static_cast<size_t>(member) * piece * element;
      std::memcpy(place, bytes + theirs.begin * element, theirs.size() * element);
    }
  };
  phases.combine = [&](size_t index) {
    const Part mine = range(index, self_);
    const auto source = [&](int member) { return slot(member, index) + static_cast<size_t>(self_) * piece * element; };
    std::byte* out = bytes + mine.begin * element;
    reduce_elements(dtype, op, out, source(0), source(1), mine.size());
    for (int m = 2; m < size(); ++m) reduce_elements(dtype, op, out, out, source(m), mine.size());
  };
  const size_t own_part = part_of(count, size(), self_).size() * element;
  return counted(run((longest + piece - 1) / piece, phases, deadline), count * element - own_part,
                 static_cast<size_t>(size() - 1) * own_part);
}

Status HostGroup::all_gather(void* data, size_t count, size_t element_bytes, const Deadline& deadline) {
  auto* bytes = static_cast<std::byte*>(data);
  const size_t longest = part_of(count, size(), 0).size();
  const Chunks chunks = Chunks::of(longest, element_bytes);
  const auto range = [&](size_t index, int member) {
    const Part all = part_of(count, size(), member);
    const size_t begin = std::min(all.end, all.begin + chunks.range(index).begin);
    return Part{begin * element_bytes, std::min(all.end, begin + chunks.size) * element_bytes};
  };
  const bool large = is_large(count * element_bytes);
  Phases phases;
  phases.put = [&](size_t index, std::byte* own) {
    const Part mine = range(index, self_);
    std::memcpy(own, bytes + mine.begin, mine.size());
  };
  phases.combine = [&](size_t index) {
    for (int i = 1; i < size(); ++i) {
      const int member = (self_ + i) % size();
      const Part theirs = range(index, member);
      copy_to_memory(bytes + theirs.begin, slot(member, index), theirs.size(), large);
    }
  };
  const size_t own_part = part_of(count, size(), self_).size() * element_bytes;
  return counted(run(chunks.number(), phases, deadline), static_cast<size_t>(size() - 1) * own_part,
                 count * element_bytes - own_part);
}

Status HostGroup::broadcast(void* data, size_t bytes, int root, const Deadline& deadline) {
  auto* memory = static_cast<std::byte*>(data);
  const Chunks chunks = Chunks::of(bytes, 1);
  const bool large = is_large(bytes);
  Phases phases;
  phases.put = [&](size_t index, std::byte* own) {
    const Part range = chunks.range(index);
    if (self_ == root) std::memcpy(own, memory + range.begin, range.size());
  };
  phases.combine = [&](size_t index) {
    const Part range = chunks.range(index);
    if (self_ != root) copy_to_memory(memory + range.begin, slot(root, index), range.size(), large);
  };
  const bool sends = self_ == root;
  return counted(run(chunks.number(), phases, deadline), sends ? static_cast<size_t>(size() - 1) * bytes : 0,
                 sends ? 0 : bytes);
}

Status HostGroup::barrier(const Deadline& deadline) {
  return run(1, {[](size_t, std::byte*) {}, [](size_t) {}, nullptr}, deadline);
}

}  // namespace thalweg::comm
