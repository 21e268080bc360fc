// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/row_exchange.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "thalweg/data/sampler.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kRowsTag = 0x524f5753;
constexpr size_t kMessageBytes = size_t{16} << 20U;
/// A single row may take more than a message should, but nobody keeps more than that for one.
constexpr uint64_t kMostMessageBytes = uint64_t{1} << 30U;
/// Of one worker: the sum of as many as a group can have is a number.
constexpr int64_t kMostRows = int64_t{1} << 48U;

/// Rows [first, first + rows) of those that came to `from` go to `to`.
struct Transfer {
  int from = 0;
  int to = 0;
  int64_t first = 0;
  int64_t rows = 0;
};

/// Throws naming the worker that cannot have so many rows.
void require_sense(const std::vector<int64_t>& counts) {
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    TW_REQUIRE(counts[rank] >= 0 && counts[rank] <= kMostRows, "rank ", rank, " claims to have ", counts[rank],
               " rows");
  }
}

/// In the order of both; a worker that lacks rows gets them from one after the other.
std::vector<Transfer> plan(const std::vector<int64_t>& came, const std::vector<int64_t>& shares) {
  std::vector<Transfer> result;
  size_t from = 0;
  int64_t given = 0;
  for (size_t to = 0; to < came.size(); ++to) {
    for (int64_t lacking = shares[to] - came[to]; lacking > 0;) {
      while (came[from] - shares[from] - given <= 0) {
        ++from;
        given = 0;
      }
      const int64_t rows = std::min(lacking, came[from] - shares[from] - given);
      result.push_back({static_cast<int>(from), static_cast<int>(to), shares[from] + given, rows});
      given += rows;
      lacking -= rows;
    }
  }
  return result;
}

}  // namespace

comm::Status RowExchange::settle(comm::Communicator& communicator, int64_t batch_size) {
  const auto workers = static_cast<size_t>(communicator.size());
  const int me = communicator.rank();
  std::vector<int64_t> came(workers, 0), held(workers, 0);
  came[static_cast<size_t>(me)] = came_;
  held[static_cast<size_t>(me)] = held_;
  for (std::vector<int64_t>* counts : {&came, &held}) {
    if (comm::Status status = communicator.all_gather(counts->data(), workers, DType::kI64); !status) return status;
  }
  require_sense(came);
  require_sense(held);
  total_ = std::accumulate(came.begin(), came.end(), int64_t{0});
  TW_REQUIRE(total_ > 0, "there are no rows to train on: all ", workers, " workers got none");
  std::vector<int64_t> shares(workers);
  for (size_t i = 0; i < workers; ++i) {
    shares[i] = data::own_samples({static_cast<int>(i), communicator.size(), total_}, batch_size);
  }
  std::vector<int64_t> reached = came;
  for (const Transfer& transfer : plan(came, shares)) {
    int64_t& there = reached[static_cast<size_t>(transfer.to)];
    // A transfer that broke off half way is made again from where it stopped.
    const int64_t done = std::clamp<int64_t>(held[static_cast<size_t>(transfer.to)] - there, 0, transfer.rows);
    there += transfer.rows;
    if (done == transfer.rows) continue;
    comm::Status status;
    if (transfer.from == me) status = send(communicator, transfer.to, transfer.first + done, transfer.rows - done);
    if (transfer.to == me) status = receive(communicator, transfer.from, transfer.rows - done);
    if (!status) return status;
  }
  rows_->show(shares[static_cast<size_t>(me)]);
  return {};
}

comm::Status RowExchange::send(comm::Communicator& communicator, int to, int64_t first, int64_t rows) {
  while (rows > 0) {
    int64_t packed_rows = rows;
    const std::vector<std::byte> packed = rows_->pack(first, packed_rows, kMessageBytes);
    const uint64_t size = packed.size();
    TW_REQUIRE(size <= kMostMessageBytes, "row ", first, " takes ", human_bytes(static_cast<double>(size)),
               ", at most ", human_bytes(static_cast<double>(kMostMessageBytes)), " can be sent to another worker");
    if (comm::Status status = communicator.send(to, kRowsTag, &size, sizeof size); !status) return status;
    if (comm::Status status = communicator.send(to, kRowsTag, packed.data(), packed.size()); !status) return status;
    first += packed_rows;
    rows -= packed_rows;
  }
  return {};
}

comm::Status RowExchange::receive(comm::Communicator& communicator, int from, int64_t rows) {
  std::vector<std::byte> packed;
  for (const int64_t end = held_ + rows; held_ < end;) {
    uint64_t size = 0;
    if (comm::Status status = communicator.receive(from, kRowsTag, &size, sizeof size); !status) return status;
    TW_REQUIRE(size <= kMostMessageBytes, "rank ", from, " announced ", human_bytes(static_cast<double>(size)),
               " of rows, at most ", human_bytes(static_cast<double>(kMostMessageBytes)), " are taken at once");
    packed.resize(size);
    if (comm::Status status = communicator.receive(from, kRowsTag, packed.data(), size); !status) return status;
    take(packed, from, end);
  }
  return {};
}

void RowExchange::take(std::span<const std::byte> packed, int from, int64_t end) {
  try {
    rows_->append_packed(packed);
  } catch (const Error& error) {
    raise("rank ", from, " sent rows that cannot be taken: ", error.what());
  }
  const int64_t came = rows_->num_rows() - held_;
  TW_REQUIRE(came > 0 && came <= end - held_, "rank ", from, " sent ", came, " rows where 1 to ", end - held_,
             " are expected");
  held_ += came;
}

comm::Status GroupRows::spread(comm::Group& group) {
  if (epoch_ == group.epoch()) return {};
  comm::Status status = exchange_.settle(group.communicator(), batch_size_);
  if (status.ok()) epoch_ = group.epoch();
  return status;
}

}  // namespace thalweg::sync
