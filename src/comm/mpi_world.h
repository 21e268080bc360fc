// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "comm/mpi_plugin.h"

namespace thalweg::comm {

/// The processes that mpirun has started, of which this is one. MPI itself is in a library that lies beside this one
/// and is loaded here.
class MpiWorld {
 public:
  /// Throws Error if the library is not there or MPI does not start.
  MpiWorld();

  /// True in a process that mpirun has started.
  static bool exists();

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Tags of messages go from 0 to this one.
  int largest_tag() const { return largest_tag_; }
  /// The first process's text, in all of them.
  std::string broadcast(std::string text) const;
  /// As ThalwegMpi's, from any thread, with a copy of the message; empty if there is none.
  std::string begin(const ThalwegMpiMessage& message, uint64_t& request) const;
  std::string test(uint64_t& request, bool& done, size_t& bytes) const;
  void cancel(uint64_t& request) const;
  void give_up() const;

 private:
  const ThalwegMpi* functions_ = nullptr;
  /// One thread at a time may use MPI.
  mutable std::mutex mutex_;
  int rank_ = 0;
  int size_ = 1;
  int largest_tag_ = 0;
};

}  // namespace thalweg::comm
