// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/mpi_world.h"
#include "thalweg/comm.h"

namespace thalweg::comm {

/// As Group::join, for the processes that mpirun has started, all of them: `options.seat` is this one's rank there.
/// Where MPI has lost one of them the others cannot go on either: `next_epoch` throws.
std::unique_ptr<Group> join_world(const GroupOptions& options, std::shared_ptr<const MpiWorld> world);

}  // namespace thalweg::comm
