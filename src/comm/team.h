// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "comm/transport.h"

namespace thalweg::comm {

/// The members that carry out one collective operation by messages: some or all ranks of a transport, in the same order
/// at each of them. This one is number `self`.
struct Team {
  Transport& transport;
  const std::vector<int>& ranks;
  int self;
  Tag tag;
  const Deadline& deadline;

  int size() const { return static_cast<int>(ranks.size()); }
  int rank_of(int member) const { return ranks[static_cast<size_t>(member)]; }
  Transfer send_to(int member, const void* data, size_t bytes) const {
    return Transfer::send(rank_of(member), tag, data, bytes);
  }
  Transfer receive_from(int member, void* data, size_t bytes) const {
    return Transfer::receive(rank_of(member), tag, data, bytes);
  }
};

/// Number `index` of the segments that `part` is cut into; empty beyond its end.
inline Part segment_of(Part part, size_t segment, size_t index) {
  const size_t begin = std::min(part.end, part.begin + index * segment);
  return {begin, std::min(part.end, begin + segment)};
}

/// Elements to be reduced.
struct Elements {
  std::byte* data = nullptr;
  size_t count = 0;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;

  size_t element_bytes() const { return size_of(dtype); }
  std::byte* at(size_t element) const { return data + element * element_bytes(); }
};

}  // namespace thalweg::comm
