// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/sparse_exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sync/compress/bits.h"
#include "sync/gather_parts.h"

namespace thalweg::sync {
namespace {

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

constexpr const char* kRowNumbers = "residual_rows/";
constexpr const char* kRowValues = "residual/";

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

void SparseExchange::use(const GradientBuckets& buckets, const Variables& variables) {
  for (const SparseRows& rows : buckets.sparse()) {
    Table& table = tables_[rows.variable];
    table.name = variables.name(rows.variable);
    table.row_size = rows.row_size;
    table.table_rows = rows.table_rows;
  }
}

void SparseExchange::commit() {
  for (auto& [variable, table] : tables_) {
    table.changed.clear();
    table.before.clear();
  }
}

void SparseExchange::roll_back() {
  for (auto& [variable, table] : tables_) {
    const auto size = static_cast<size_t>(table.row_size);
    // The last change first: a row may have changed several times.
    for (size_t i = table.changed.size(); i-- > 0;) {
      std::copy_n(table.before.data() + i * size, size, table.kept.at(table.changed[i]).data());
    }
  }
  commit();
}

void SparseExchange::clear_state() {
  for (auto& [variable, table] : tables_) table.kept.clear();
  commit();
}

std::vector<NamedTensor> SparseExchange::state() const {
  std::vector<NamedTensor> result;
  for (const auto& [variable, table] : tables_) {
    if (codec_ == nullptr) continue;
    const std::map<int64_t, std::vector<float>> in_order(table.kept.begin(), table.kept.end());
    const auto rows = static_cast<int64_t>(in_order.size());
    Tensor numbers(DType::kI64, {rows}), values(DType::kF32, {rows, table.row_size});
    int64_t at = 0;
    for (const auto& [row, kept] : in_order) {
      numbers.data<int64_t>()[at] = row;
      std::memcpy(values.data<float>() + at * table.row_size, kept.data(), kept.size() * sizeof(float));
      ++at;
    }
    result.push_back({kRowNumbers + table.name, numbers});
    result.push_back({kRowValues + table.name, values});
  }
  return result;
}

void SparseExchange::add_state(const std::vector<NamedTensor>& state) {
  const auto find = [&](const std::string& name) -> const Tensor* {
    for (const NamedTensor& entry : state) {
      if (entry.name == name) return &entry.tensor;
    }
    return nullptr;
  };
  for (auto& [variable, table] : tables_) {
    const Tensor* numbers = find(kRowNumbers + table.name);
    const Tensor* values = find(kRowValues + table.name);
    if (numbers == nullptr || values == nullptr || codec_ == nullptr) continue;
    const int64_t rows = numbers->num_elements();
    TW_REQUIRE(numbers->dtype() == DType::kI64 && values->type() == (TensorType{DType::kF32, {rows, table.row_size}}),
               "what was kept of rows of '", table.name, "' is ", values->type(), ", not ", rows, " rows of ",
               table.row_size);
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<float>& kept = table.kept[numbers->data<int64_t>()[i]];
      kept.resize(static_cast<size_t>(table.row_size));
      for (size_t k = 0; k < kept.size(); ++k)
        kept[k] += values->data<float>()[static_cast<size_t>(i) * kept.size() + k];
    }
  }
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
    table.changed.push_back(rows.indices[i]);
    table.before.insert(table.before.end(), kept.begin(), kept.end());
    encode_with_feedback(*codec_, {rows.rows.data() + i * size, size}, kept, kept, table.encoded.data() + i * bytes);
  }
}

void SparseExchange::put(const SparseRows& rows, std::vector<std::byte>& message) const {
  put_number(message, static_cast<int64_t>(rows.indices.size()));
  const auto append = [&](std::span<const std::byte> bytes) {
    message.insert(message.end(), bytes.begin(), bytes.end());
  };
  append(std::as_bytes(std::span(rows.indices)));
  append(codec_ != nullptr ? std::as_bytes(std::span(tables_.at(rows.variable).encoded))
                           : std::as_bytes(std::span(rows.rows)));
}

SparseRows SparseExchange::take(size_t variable, std::span<const std::byte>& message) const {
  const Table& table = tables_.at(variable);
  const auto count = take_number<int64_t>(message);
  TW_REQUIRE(count >= 0 && count <= table.table_rows, "gradients of ", count, " rows of a table that has ",
             table.table_rows);
  const auto elements = static_cast<size_t>(count * table.row_size);
  const size_t index_bytes = static_cast<size_t>(count) * sizeof(int64_t);
  const size_t bytes = elements * (codec_ != nullptr ? size_of(codec_->dtype()) : sizeof(float));
  TW_REQUIRE(message.size() >= index_bytes + bytes, "the gradients of ", count, " rows end after ", message.size(),
             " bytes");
  SparseRows rows{variable, table.row_size, table.table_rows, std::vector<int64_t>(static_cast<size_t>(count)),
                  std::vector<float>(elements)};
  std::memcpy(rows.indices.data(), message.data(), index_bytes);
  for (const int64_t index : rows.indices) {
    TW_REQUIRE(index >= 0 && index < table.table_rows, "a gradient of row ", index, " of a table that has ",
               table.table_rows);
  }
  message = message.subspan(index_bytes);
  if (codec_ == nullptr) {
    std::memcpy(rows.rows.data(), message.data(), bytes);
  } else {
    const std::vector<std::byte> encoded(message.begin(), message.begin() + static_cast<int64_t>(bytes));
    codec_->decode(encoded.data(), rows.rows);
  }
  message = message.subspan(bytes);
  return rows;
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
