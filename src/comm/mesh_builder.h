// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/file_descriptor.h"
#include "comm/group_communicator.h"
#include "comm/membership.h"
#include "comm/mpi_world.h"

namespace thalweg::comm {

/// Where a member takes connections of its peers, from its first epoch to its last.
struct Listeners {
  FileDescriptor tcp;
  FileDescriptor local;
};

/// Text that members have in common if and only if they can share memory: the boot of the machine and the network name
/// space, in which local sockets are reached. Random where this process cannot share memory at all.
std::string host_identity();

/// Connects the members of a view with each other, or says what went wrong, with whom. Every member must do so at the
/// same time. Higher ranks connect to lower ones. If mpirun has started them, `world`, messages between hosts go by MPI
/// unless the options want TCP; null otherwise.
std::shared_ptr<Communicator> connect_members(const View& view, int rank, const Listeners& listeners,
                                              const GroupOptions& options, std::shared_ptr<const MpiWorld> world,
                                              const Deadline& deadline, Status& status);

}  // namespace thalweg::comm
