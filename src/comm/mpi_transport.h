// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/mpi_world.h"
#include "comm/transport.h"

namespace thalweg::comm {

/// Messages by MPI, over whatever network it finds, between the processes that mpirun has started; ranks are MPI's.
/// After a failure, memory of transfers that could not be taken back stays in MPI's hands until the process ends.
class MpiTransport : public Transport {
 public:
  explicit MpiTransport(std::shared_ptr<const MpiWorld> world) : world_(std::move(world)) {}

  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  Status run(std::span<const Transfer> transfers, const Deadline& deadline) override;
  void abort(const std::string& why) override;

 private:
  /// A message, or a piece of one that is too long for MPI.
  struct Request {
    Transfer::Kind kind;
    int peer;
    size_t bytes;
    uint64_t handle;
  };
  Status begin(std::span<const Transfer> transfers, Transfer::Kind kind, std::vector<Request>& requests);
  /// Removes what is through; `moved` becomes true if that was anything.
  Status progress(std::vector<Request>& requests, bool& moved);
  Status test(Request& request, bool& done);
  Status wait(std::vector<Request>& requests, const Deadline& deadline);
  Status check(const std::vector<Request>& requests, const Deadline& deadline);
  /// Takes back what is not through, as far as MPI can.
  void withdraw(std::vector<Request>& requests);

  std::shared_ptr<const MpiWorld> world_;
  Status failed_;
  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;
};

}  // namespace thalweg::comm
