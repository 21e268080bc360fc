// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/sparse_exchange.h"

#include <algorithm>

namespace thalweg::sync {
namespace {

/// Every worker's elements in turn; `counts` says how many each has. Parts of an all-gather are of one size, so the
/// shorter ones travel with room to spare.
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

}  // namespace

comm::Status gather_rows(comm::Communicator& communicator, SparseRows& rows) {
  std::vector<int64_t> counts(static_cast<size_t>(communicator.size()));
  counts[static_cast<size_t>(communicator.rank())] = static_cast<int64_t>(rows.indices.size());
  if (comm::Status status = communicator.all_gather(counts.data(), counts.size(), DType::kI64); !status) return status;
  if (comm::Status status = gather_parts(communicator, rows.indices, counts, 1); !status) return status;
  return gather_parts(communicator, rows.rows, counts, rows.row_size);
}

}  // namespace thalweg::sync
