// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "comm/algorithms.h"
#include "comm/reduce.h"

namespace thalweg::comm {
namespace {

/// Half of a usual second-level cache.
constexpr size_t kSegmentBytes = size_t{512} << 10U;

int wrap(int member, int size) { return (member % size + size) % size; }

}  // namespace

Status exchange_and_reduce(const Team& team, int to, const Elements& all, Part outgoing, int from, Part into) {
  const size_t segment = kSegmentBytes / all.element_bytes();
  std::vector<std::byte> incoming(std::min(segment, into.size()) * all.element_bytes());
  const size_t rounds = (std::max(outgoing.size(), into.size()) + segment - 1) / segment;
  for (size_t k = 0; k < rounds; ++k) {
    const Part out = segment_of(outgoing, segment, k);
    const Part in = segment_of(into, segment, k);
    std::vector<Transfer> transfers;
    if (out.size() > 0) transfers.push_back(team.send_to(to, all.at(out.begin), out.size() * all.element_bytes()));
    if (in.size() > 0) transfers.push_back(team.receive_from(from, incoming.data(), in.size() * all.element_bytes()));
    if (Status status = team.transport.run(transfers, team.deadline); !status) return status;
    reduce_elements(all.dtype, all.op, all.at(in.begin), incoming.data(), all.at(in.begin), in.size());
  }
  return {};
}

Status ring_reduce_scatter(const Team& team, const Elements& all) {
  const int n = team.size();
  for (int step = 0; step < n - 1; ++step) {
    const Part outgoing = part_of(all.count, n, wrap(team.self - step - 1, n));
    const Part into = part_of(all.count, n, wrap(team.self - step - 2, n));
    Status status = exchange_and_reduce(team, wrap(team.self + 1, n), all, outgoing, wrap(team.self - 1, n), into);
    if (!status) return status;
  }
  return {};
}

Status ring_all_gather(const Team& team, const Elements& all) {
  const int n = team.size();
  for (int step = 0; step < n - 1; ++step) {
    const Part outgoing = part_of(all.count, n, wrap(team.self - step, n));
    const Part incoming = part_of(all.count, n, wrap(team.self - step - 1, n));
    const Transfer transfers[] = {
        team.send_to(wrap(team.self + 1, n), all.at(outgoing.begin), outgoing.size() * all.element_bytes()),
        team.receive_from(wrap(team.self - 1, n), all.at(incoming.begin), incoming.size() * all.element_bytes())};
    if (Status status = team.transport.run(transfers, team.deadline); !status) return status;
  }
  return {};
}

Status ring_all_reduce(const Team& team, const Elements& all) {
  Status status = ring_reduce_scatter(team, all);
  return status ? ring_all_gather(team, all) : status;
}

}  // namespace thalweg::comm
