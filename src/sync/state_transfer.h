// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/comm.h"
#include "train/checkpoint.h"

namespace thalweg::sync {

/// Sends the root's snapshot to all others, which get it in `snapshot`. Tensors go straight from and to their memory.
comm::Status broadcast_snapshot(comm::Communicator& communicator, int root, Checkpoint& snapshot);

}  // namespace thalweg::sync
