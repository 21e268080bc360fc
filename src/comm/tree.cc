// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/algorithms.h"

namespace thalweg::comm {
namespace {

/// Members are numbered from the root: the parent of a member is that number without its lowest set bit.
struct Tree {
  const Team& team;
  int root;

  int place() const { return (team.self - root + team.size()) % team.size(); }
  int member(int at) const { return (at + root) % team.size(); }
};

}  // namespace

Status tree_reduce(const Team& team, const Elements& all, int root) {
  const Tree tree{team, root};
  const int place = tree.place();
  for (int distance = 1; distance < team.size(); distance *= 2) {
    if ((place & distance) != 0) {
      const int parent = tree.member(place - distance);
      return exchange_and_reduce(team, parent, all, {0, all.count}, parent, {});
    }
    if (place + distance >= team.size()) continue;
    const int child = tree.member(place + distance);
    if (Status status = exchange_and_reduce(team, child, all, {}, child, {0, all.count}); !status) return status;
  }
  return {};
}

Status tree_broadcast(const Team& team, std::byte* data, size_t bytes, int root) {
  const Tree tree{team, root};
  const int place = tree.place();
  int distance = 1;
  while (distance < team.size() && (place & distance) == 0) distance *= 2;
  if (place != 0) {
    const Transfer down = team.receive_from(tree.member(place - distance), data, bytes);
    if (Status status = team.transport.run({&down, 1}, team.deadline); !status) return status;
  }
  for (distance /= 2; distance >= 1; distance /= 2) {
    if (place + distance >= team.size()) continue;
    const Transfer down = team.send_to(tree.member(place + distance), data, bytes);
    if (Status status = team.transport.run({&down, 1}, team.deadline); !status) return status;
  }
  return {};
}

Status tree_all_reduce(const Team& team, const Elements& all) {
  Status status = tree_reduce(team, all, 0);
  return status ? tree_broadcast(team, all.data, all.count * all.element_bytes(), 0) : status;
}

}  // namespace thalweg::comm
