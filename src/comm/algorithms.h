// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/team.h"

namespace thalweg::comm {

// Collective operations made of messages. Each member calls the same with the same arguments; parts are those of
// part_of over the team.

/// Sends `outgoing` to one member while elements of the same place come in from another and are reduced into `into`,
/// the incoming ones on the left. In segments, so that what has come is still in the cache when it is added; either
/// part may be empty, and the other end must call this too.
Status exchange_and_reduce(const Team& team, int to, const Elements& all, Part outgoing, int from, Part into);

// ring.cc: each element travels around once; the least data in all, in 2 (n - 1) steps.
Status ring_reduce_scatter(const Team& team, const Elements& all);
Status ring_all_gather(const Team& team, const Elements& all);
Status ring_all_reduce(const Team& team, const Elements& all);

// halving.cc: recursive halving and doubling; as little data, in 2 log2(n) steps, plus two where n is no power of two.
Status halving_all_reduce(const Team& team, const Elements& all);

// pair.cc: two members; each adds up one half, segment by segment, and sends a segment back while the next one comes.
Status pair_all_reduce(const Team& team, const Elements& all);

// tree.cc: a binomial tree; few steps for each member, all data in each of them.
Status tree_reduce(const Team& team, const Elements& all, int root);
Status tree_broadcast(const Team& team, std::byte* data, size_t bytes, int root);
Status tree_all_reduce(const Team& team, const Elements& all);

enum class Algorithm { kPair, kTree, kHalving, kRing };
/// What takes least time for so many bytes among so many members.
Algorithm pick_algorithm(size_t bytes, int members);
Status all_reduce_by(Algorithm algorithm, const Team& team, const Elements& all);

}  // namespace thalweg::comm
