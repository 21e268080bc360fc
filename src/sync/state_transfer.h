// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/comm.h"
#include "train/checkpoint.h"

namespace thalweg::sync {

/// Sends the root's snapshot to all others, which get it in `snapshot`. Tensors go straight from and to their memory.
comm::Status broadcast_snapshot(comm::Communicator& communicator, int root, Checkpoint& snapshot);

/// Every worker: what each one has, by rank, at the root; `all` stays empty elsewhere. Names, shapes and sizes may
/// differ from worker to worker.
comm::Status gather_tensors(comm::Communicator& communicator, int root, const std::vector<NamedTensor>& mine,
                            std::vector<std::vector<NamedTensor>>& all);

/// The same as one message, and back. The second throws Error that names the rank it came from.
std::vector<std::byte> pack_tensors(const std::vector<NamedTensor>& tensors);
std::vector<NamedTensor> unpack_tensors(std::span<const std::byte> message, int from);

}  // namespace thalweg::sync
