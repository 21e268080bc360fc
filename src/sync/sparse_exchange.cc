// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/sparse_exchange.h"

#include <algorithm>
#include <numeric>

namespace thalweg::sync {
namespace {

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

/// The sums of rows that stand there several times, the others as they are.
std::vector<float> sums_of(const simd::RowList& list, const std::vector<float>& rows) {
  const auto size = static_cast<size_t>(list.row_size);
  std::vector<float> sums(static_cast<size_t>(list.count) * size);
  for (int64_t i = 0; i < list.count; ++i) {
    float* sum = sums.data() + static_cast<size_t>(i) * size;
    if (list.ready[i] != nullptr) {
      std::copy_n(list.ready[i], size, sum);
      continue;
    }
    for (int64_t at = list.first[i]; at < list.first[i + 1]; ++at) {
      const float* row = rows.data() + static_cast<size_t>(list.order[at]) * size;
#pragma omp simd
      for (size_t k = 0; k < size; ++k) sum[k] += row[k];
    }
  }
  return sums;
}

comm::Status failure_of(size_t rank, const std::string& what) {
  return comm::Failure{comm::FailureKind::kProtocol, static_cast<int>(rank), what, 0};
}

/// Each worker has every row of the table at most once.
comm::Status check_counts(const std::vector<int64_t>& counts, int64_t table_rows) {
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] >= 0 && counts[rank] <= table_rows) continue;
    return failure_of(rank, "it announced the gradients of " + std::to_string(counts[rank]) +
                                " rows of a table that has " + std::to_string(table_rows));
  }
  return {};
}

/// `indices` are those of all workers, in order of rank.
comm::Status check_indices(const std::vector<int64_t>& indices, const std::vector<int64_t>& counts,
                           int64_t table_rows) {
  auto index = indices.begin();
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    for (const auto end = index + counts[rank]; index < end; ++index) {
      if (*index >= 0 && *index < table_rows) continue;
      return failure_of(rank, "it sent a gradient of row " + std::to_string(*index) + " of a table that has " +
                                  std::to_string(table_rows));
    }
  }
  return {};
}

}  // namespace

void SparseExchange::use(const GradientBuckets& buckets) {
  for (const SparseRows& rows : buckets.sparse()) tables_.try_emplace(rows.variable);
}

void SparseExchange::begin(SparseRows& rows) {
  Table& table = tables_.at(rows.variable);
  const simd::RowList list = table.coalescer.coalesce("number " + std::to_string(rows.variable), rows.indices,
                                                      rows.table_rows, rows.row_size, rows.rows);
  rows.rows = sums_of(list, rows.rows);
  rows.indices.assign(list.rows, list.rows + list.count);
  if (codec_ != nullptr) encode(rows, table);
}

void SparseExchange::encode(const SparseRows& rows, Table& table) const {
  const auto size = static_cast<size_t>(rows.row_size);
  const size_t bytes = size * size_of(codec_->dtype());
  table.encoded.resize(rows.indices.size() * bytes);
  for (size_t i = 0; i < rows.indices.size(); ++i) {
    std::vector<float>& kept = table.kept[rows.indices[i]];
    kept.resize(size);
    encode_with_feedback(*codec_, {rows.rows.data() + i * size, size}, kept, table.encoded.data() + i * bytes);
  }
}

comm::Status SparseExchange::gather(comm::Communicator& communicator, SparseRows& rows) {
  std::vector<int64_t> counts(static_cast<size_t>(communicator.size()));
  counts[static_cast<size_t>(communicator.rank())] = static_cast<int64_t>(rows.indices.size());
  if (comm::Status status = communicator.all_gather(counts.data(), counts.size(), DType::kI64); !status) return status;
  if (comm::Status status = check_counts(counts, rows.table_rows); !status) return status;
  if (comm::Status status = gather_parts(communicator, rows.indices, counts, 1); !status) return status;
  if (comm::Status status = check_indices(rows.indices, counts, rows.table_rows); !status) return status;
  if (codec_ != nullptr) return gather_encoded(communicator, rows, counts);
  return gather_parts(communicator, rows.rows, counts, rows.row_size);
}

comm::Status SparseExchange::gather_encoded(comm::Communicator& communicator, SparseRows& rows,
                                            const std::vector<int64_t>& counts) {
  std::vector<uint8_t>& encoded = tables_.at(rows.variable).encoded;
  const auto row_bytes = rows.row_size * static_cast<int64_t>(size_of(codec_->dtype()));
  if (comm::Status status = gather_parts(communicator, encoded, counts, row_bytes); !status) return status;
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  rows.rows.resize(static_cast<size_t>(total * rows.row_size));
  codec_->decode(encoded.data(), rows.rows);
  return {};
}

}  // namespace thalweg::sync
