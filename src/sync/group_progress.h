// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/comm.h"

namespace thalweg::sync {

/// One line about a group that trains, from what its members say of themselves: loss, speed, how much of the time is
/// spent waiting, and who keeps the others waiting, if somebody does. Empty if nobody has said anything.
std::string group_progress(const std::vector<comm::Rendezvous::Member>& members);

}  // namespace thalweg::sync
