// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "thalweg/comm.h"
#include "thalweg/data/row_store.h"

namespace thalweg::sync {

/// Gives every worker its share of rows that came to the workers in any numbers: who has too many sends the last of
/// them to those who have too few, and keeps them, so that they can be sent again to a worker that lost its memory.
/// Which rows a worker ends with depends only on what came to whom.
class RowExchange {
 public:
  explicit RowExchange(std::shared_ptr<data::RowStore> rows)
      : rows_(std::move(rows)), came_(rows_->num_rows()), held_(came_) {}

  /// Every worker of an epoch, before it trains. After a failure, again in the next epoch.
  comm::Status settle(comm::Communicator& communicator, int64_t batch_size);
  /// Of all workers.
  int64_t total() const { return total_; }

 private:
  comm::Status send(comm::Communicator& communicator, int to, int64_t first, int64_t rows);
  comm::Status receive(comm::Communicator& communicator, int from, int64_t rows);
  /// Keeps rows that `from` has sent, with which no more than `end` are held.
  void take(std::span<const std::byte> packed, int from, int64_t end);

  std::shared_ptr<data::RowStore> rows_;
  /// Those that came here, and with what others have sent.
  int64_t came_;
  int64_t held_;
  int64_t total_ = 0;
};

/// The same over the life of a group: rows are spread once in each of its epochs.
class GroupRows {
 public:
  explicit GroupRows(std::shared_ptr<data::RowStore> rows) : exchange_(std::move(rows)) {}

  /// Before the first `spread`.
  void set_batch_size(int64_t batch_size) { batch_size_ = batch_size; }
  /// Every worker of the group's epoch; without effect if that was done in it already.
  comm::Status spread(comm::Group& group);
  int64_t total() const { return exchange_.total(); }

 private:
  RowExchange exchange_;
  int64_t batch_size_ = 0;
  /// The epoch in which rows were spread last; 0: none.
  uint64_t epoch_ = 0;
};

}  // namespace thalweg::sync
