// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "thalweg/comm.h"

namespace thalweg::testing {

/// True in a test program that mpirun has started (mpi_test.cc).
inline bool under_mpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

/// This process in the group of those that mpirun has started, whose messages go by MPI.
class MpiMember {
 public:
  static comm::Group& group() {
    static const MpiMember member;
    return *member.group_;
  }

 private:
  MpiMember() : group_(comm::join_launched({.path = comm::Path::kMpi})) {}
  /// Nobody leaves while others are still at it.
  ~MpiMember() {
    if (group_->communicator().barrier().ok()) group_->finish();
  }

  std::shared_ptr<comm::Group> group_;
};

}  // namespace thalweg::testing
