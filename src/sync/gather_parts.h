// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "thalweg/comm.h"

namespace thalweg::sync {

/// Every worker's elements in turn; `counts` says how many units of so many elements each has. Parts of an all-gather
/// are of one size, so the shorter ones travel with room to spare.
template <typename T>
comm::Status gather_parts(comm::Communicator& communicator, std::vector<T>& mine, const std::vector<int64_t>& counts,
                          int64_t unit) {
  const auto longest = static_cast<size_t>(*std::max_element(counts.begin(), counts.end()) * unit);
  std::vector<T> padded(longest * counts.size());
  std::copy(mine.begin(), mine.end(), padded.begin() + static_cast<int64_t>(longest) * communicator.rank());
  comm::Status status = communicator.all_gather(padded.data(), padded.size(), dtype_of<T>);
  if (!status) return status;
  mine.clear();
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    const auto begin = padded.begin() + static_cast<int64_t>(rank * longest);
    mine.insert(mine.end(), begin, begin + counts[rank] * unit);
  }
  return {};
}

}  // namespace thalweg::sync
