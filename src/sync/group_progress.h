// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/comm.h"

namespace thalweg::sync {

/// One line about a group that trains, from what its members say of themselves: loss, speed, how much of the time is
/// spent waiting, and who keeps the others waiting, if somebody does. Empty if nobody has said anything. Where it would
/// be wider than `width`, words are shortened, and what matters least is left out.
std::string group_progress(const std::vector<comm::Rendezvous::Member>& members, size_t width = std::string::npos);

/// The step to which the member that is furthest has come, as far as they have said; 0 if they have not.
int64_t group_step(const std::vector<comm::Rendezvous::Member>& members);

/// The status (comm::Group::set_status) of a worker that reads its data, and has got so many rows.
std::string reading_status(int64_t rows);

/// One line about a group of `workers` that cannot train yet: how many have not come, and what the others do. Empty if
/// all are there and nobody prepares itself.
std::string preparation_progress(const comm::Rendezvous::State& state, int workers);

}  // namespace thalweg::sync
