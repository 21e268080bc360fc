// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/comm.h"

namespace thalweg::sync {

/// What an all-reduce takes: `seconds` whatever its size, and `seconds_per_byte` for what is added up.
struct LinkSpeed {
  double seconds = 0;
  double seconds_per_byte = 0;
  double seconds_for(double bytes, double messages = 1) const { return messages * seconds + bytes * seconds_per_byte; }
};

/// All members at once: adds up arrays of zeros, each larger than the one before, until one takes long enough to say
/// something about the link. All members end with the same numbers, those of the slowest.
comm::Status probe_link(comm::Communicator& communicator, LinkSpeed& speed);

}  // namespace thalweg::sync
