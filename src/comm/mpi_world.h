// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/mpi_plugin.h"

namespace thalweg::comm {

/// The processes that mpirun has started, of which this is one. MPI itself is in a library that lies beside this one
/// and is loaded here. One thread at a time may use it.
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
  const ThalwegMpi& functions() const { return *functions_; }

 private:
  const ThalwegMpi* functions_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
  int largest_tag_ = 0;
};

}  // namespace thalweg::comm
