// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "comm/algorithms.h"
#include "comm/reduce.h"

namespace thalweg::comm {
namespace {

/// What is added up while the socket's buffer keeps the wire busy.
constexpr size_t kSegmentBytes = size_t{256} << 10U;

}  // namespace

Status pair_all_reduce(const Team& team, const Elements& all) {
  const int partner = 1 - team.self;
  const Part kept = part_of(all.count, 2, team.self);
  const Part given = part_of(all.count, 2, partner);
  const size_t segment = kSegmentBytes / all.element_bytes();
  const size_t rounds = (std::max(kept.size(), given.size()) + segment - 1) / segment;
  std::vector<std::byte> incoming(std::min(segment, kept.size()) * all.element_bytes());
  const auto bytes = [&](Part part) { return part.size() * all.element_bytes(); };
  // In round k the sums of segment k - 1 go back while segment k comes.
  for (size_t k = 0; k <= rounds; ++k) {
    std::vector<Transfer> transfers;
    const Part out = segment_of(given, segment, k), in = segment_of(kept, segment, k);
    if (out.size() > 0) transfers.push_back(team.send_to(partner, all.at(out.begin), bytes(out)));
    if (in.size() > 0) transfers.push_back(team.receive_from(partner, incoming.data(), bytes(in)));
    if (k > 0) {
      const Part mine = segment_of(kept, segment, k - 1), theirs = segment_of(given, segment, k - 1);
      if (mine.size() > 0) transfers.push_back(team.send_to(partner, all.at(mine.begin), bytes(mine)));
      if (theirs.size() > 0) transfers.push_back(team.receive_from(partner, all.at(theirs.begin), bytes(theirs)));
    }
    if (Status status = team.transport.run(transfers, team.deadline); !status) return status;
    reduce_elements(all.dtype, all.op, all.at(in.begin), incoming.data(), all.at(in.begin), in.size());
  }
  return {};
}

}  // namespace thalweg::comm
