// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "optim/coalesce.h"
#include "runtime/variables.h"
#include "sync/codec.h"
#include "sync/gradient_buckets.h"
#include "thalweg/comm.h"
#include "thalweg/safetensors.h"

namespace thalweg::sync {

/// Brings together the rows of sparse gradients: only rows that somebody has travel, each once from every worker, and
/// in the codec's form, if there is one, with error feedback for each row.
class SparseExchange {
 public:
  /// Rows travel as numbers of this type: f32, bf16 or f16.
  explicit SparseExchange(DType wire) : codec_(Codec::make(wire)) {}

  /// The tables that follow are those of these buckets. What was kept of their rows stays.
  void use(const GradientBuckets& buckets, const Variables& variables);
  /// Before `gather`, which may be on another thread: adds up rows that stand there several times, and encodes them.
  void begin(SparseRows& rows);
  /// Every worker ends with the rows of all, in order of rank. Rows that several have stand there several times: the
  /// update adds them up in that order.
  comm::Status gather(comm::Communicator& communicator, SparseRows& rows);
  /// After `begin`, for one who gets them without a word from the other workers: appends the rows, and reads them from
  /// the front of what was appended. The second, which throws Error if they are none, may be called while another
  /// thread uses the rest.
  void put(const SparseRows& rows, std::vector<std::byte>& message) const;
  SparseRows take(size_t variable, std::span<const std::byte>& message) const;

  // As those of a Compressor.
  void commit();
  void roll_back();
  std::vector<NamedTensor> state() const;
  void add_state(const std::vector<NamedTensor>& state);
  void clear_state();

 private:
  /// Of one table.
  struct Table {
    optim::RowCoalescer coalescer;
    /// What encoding has lost, of every row that ever had a gradient.
    std::unordered_map<int64_t, std::vector<float>> kept;
    /// The rows that the step under way has changed, in turn, and what was kept of them before.
    std::vector<int64_t> changed;
    std::vector<float> before;
    std::string name;
    int64_t row_size = 1;
    int64_t table_rows = 0;
    std::vector<uint8_t> encoded;
  };
  void encode(const SparseRows& rows, Table& table) const;
  comm::Status gather_encoded(comm::Communicator& communicator, SparseRows& rows, const std::vector<int64_t>& counts);

  std::unique_ptr<Codec> codec_;
  /// By variable.
  std::map<size_t, Table> tables_;
};

}  // namespace thalweg::sync
