// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/algorithms.h"

namespace thalweg::comm {

Algorithm pick_algorithm(size_t bytes, int members) {
  // Below, the time is that of the messages, whatever they hold; the tree has the fewest.
  constexpr size_t kSmall = size_t{4} << 10U;
  // Above, halving loses to the ring what its long-distance steps cost on a shared network.
  constexpr size_t kLarge = size_t{1} << 20U;
  if (members == 2) return Algorithm::kPair;
  if (bytes <= kSmall) return Algorithm::kTree;
  return bytes <= kLarge ? Algorithm::kHalving : Algorithm::kRing;
}

Status all_reduce_by(Algorithm algorithm, const Team& team, const Elements& all) {
  switch (algorithm) {
    case Algorithm::kPair: return pair_all_reduce(team, all);
    case Algorithm::kTree: return tree_all_reduce(team, all);
    case Algorithm::kHalving: return halving_all_reduce(team, all);
    case Algorithm::kRing: return ring_all_reduce(team, all);
  }
  return {};
}

}  // namespace thalweg::comm
