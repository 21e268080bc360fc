// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "comm/algorithms.h"

namespace thalweg::comm {
namespace {

Part lower_half(Part range) { return {range.begin, range.begin + range.size() / 2}; }
Part upper_half(Part range) { return {range.begin + range.size() / 2, range.end}; }

/// Among the first `count` members, a power of two: each step halves the range that a member is in charge of, and the
/// steps back double what it knows.
Status halve_and_double(const Team& team, const Elements& all, int count) {
  std::vector<Part> ranges = {{0, all.count}};
  for (int distance = count / 2; distance >= 1; distance /= 2) {
    const bool lower = (team.self & distance) == 0;
    const int partner = team.self ^ distance;
    const Part range = ranges.back();
    const Part kept = lower ? lower_half(range) : upper_half(range);
    const Part given = lower ? upper_half(range) : lower_half(range);
    if (Status status = exchange_and_reduce(team, partner, all, given, partner, kept); !status) return status;
    ranges.push_back(kept);
  }
  for (int distance = 1; distance < count; distance *= 2) {
    const int partner = team.self ^ distance;
    const Part known = ranges.back();
    ranges.pop_back();
    const bool lower = (team.self & distance) == 0;
    const Part missing = lower ? upper_half(ranges.back()) : lower_half(ranges.back());
    const Transfer transfers[] = {
        team.send_to(partner, all.at(known.begin), known.size() * all.element_bytes()),
        team.receive_from(partner, all.at(missing.begin), missing.size() * all.element_bytes())};
    if (Status status = team.transport.run(transfers, team.deadline); !status) return status;
  }
  return {};
}

}  // namespace

Status halving_all_reduce(const Team& team, const Elements& all) {
  int count = 1;
  while (count * 2 <= team.size()) count *= 2;
  const Part everything{0, all.count};
  const Part nothing;
  const size_t bytes = all.count * all.element_bytes();
  // Members beyond the power of two hand their data to a partner below it, and get the result from there.
  if (team.self >= count) {
    const int partner = team.self - count;
    if (Status status = exchange_and_reduce(team, partner, all, everything, partner, nothing); !status) return status;
    const Transfer get = team.receive_from(partner, all.data, bytes);
    return team.transport.run({&get, 1}, team.deadline);
  }
  const int partner = team.self + count;
  const bool has_partner = partner < team.size();
  if (has_partner) {
    if (Status status = exchange_and_reduce(team, partner, all, nothing, partner, everything); !status) return status;
  }
  if (Status status = halve_and_double(team, all, count); !status) return status;
  if (!has_partner) return {};
  const Transfer give = team.send_to(partner, all.data, bytes);
  return team.transport.run({&give, 1}, team.deadline);
}

}  // namespace thalweg::comm
