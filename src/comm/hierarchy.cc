// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/hierarchy.h"

#include <algorithm>

namespace thalweg::comm {

Hierarchy::Hierarchy(Transport& transport, HostGroup* host, const Hosts& hosts)
    : transport_(transport), host_(host), hosts_(hosts), own_(place_of(transport.rank())) {
  for (const std::vector<int>& ranks : hosts_) leaders_.push_back(ranks.front());
}

Hierarchy::Place Hierarchy::place_of(int rank) const {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const auto found = std::find(hosts_[i].begin(), hosts_[i].end(), rank);
    if (found != hosts_[i].end()) return {static_cast<int>(i), static_cast<int>(found - hosts_[i].begin())};
  }
  raise("rank ", rank, " is on none of the ", hosts_.size(), " hosts");
}

Status Hierarchy::reduce_inside(const Elements& all, const Deadline& deadline) {
  return host_ != nullptr ? host_->all_reduce(all.data, all.count, all.dtype, all.op, deadline) : Status();
}

Status Hierarchy::broadcast_inside(std::byte* data, size_t bytes, int member, const Deadline& deadline) {
  return host_ != nullptr ? host_->broadcast(data, bytes, member, deadline) : Status();
}

Status Hierarchy::all_reduce(const Elements& all, Tag tag, const Deadline& deadline) {
  if (Status status = reduce_inside(all, deadline); !status) return status;
  const size_t bytes = all.count * all.element_bytes();
  if (leads()) {
    const Team team = leaders(tag, deadline);
    if (Status status = all_reduce_by(pick_algorithm(bytes, team.size()), team, all); !status) return status;
  }
  return broadcast_inside(all.data, bytes, 0, deadline);
}

Status Hierarchy::reduce(const Elements& all, int root, Tag tag, const Deadline& deadline) {
  if (Status status = reduce_inside(all, deadline); !status) return status;
  const Place target = place_of(root);
  if (leads()) {
    if (Status status = tree_reduce(leaders(tag, deadline), all, target.host); !status) return status;
  }
  if (own_.host != target.host || target.member == 0) return {};
  return broadcast_inside(all.data, all.count * all.element_bytes(), 0, deadline);
}

Status Hierarchy::reduce_scatter(const Elements& all, Tag tag, const Deadline& deadline) {
  if (Status status = reduce_inside(all, deadline); !status) return status;
  if (leads()) {
    if (Status status = reduce_parts(leaders(tag, deadline), all); !status) return status;
  }
  for (const int rank : ranks_of(own_.host)) {
    const Part range = part(all, rank);
    if (rank == leaders_[static_cast<size_t>(own_.host)] || range.size() == 0) continue;
    Status status = broadcast_inside(all.at(range.begin), range.size() * all.element_bytes(), 0, deadline);
    if (!status) return status;
  }
  return {};
}

/// In each round a member is in touch with two others, as in a ring, but data goes straight to where it is added up.
Status Hierarchy::reduce_parts(const Team& team, const Elements& all) const {
  const std::vector<int>& own = ranks_of(team.self);
  for (int distance = 1; distance < team.size(); ++distance) {
    const int to = (team.self + distance) % team.size();
    const int from = (team.self - distance + team.size()) % team.size();
    const std::vector<int>& theirs = ranks_of(to);
    for (size_t i = 0; i < std::max(own.size(), theirs.size()); ++i) {
      const Part outgoing = i < theirs.size() ? part(all, theirs[i]) : Part();
      const Part into = i < own.size() ? part(all, own[i]) : Part();
      if (Status status = exchange_and_reduce(team, to, all, outgoing, from, into); !status) return status;
    }
  }
  return {};
}

Status Hierarchy::all_gather(const Elements& all, Tag tag, const Deadline& deadline) {
  const std::vector<int>& own = ranks_of(own_.host);
  for (size_t i = 0; i < own.size(); ++i) {
    const Part range = part(all, own[i]);
    const size_t bytes = range.size() * all.element_bytes();
    if (bytes == 0) continue;
    Status status = broadcast_inside(all.at(range.begin), bytes, static_cast<int>(i), deadline);
    if (!status) return status;
  }
  if (leads()) {
    if (Status status = exchange_parts(leaders(tag, deadline), all); !status) return status;
  }
  return broadcast_inside(all.data, all.count * all.element_bytes(), 0, deadline);
}

Status Hierarchy::exchange_parts(const Team& team, const Elements& all) const {
  for (int distance = 1; distance < team.size(); ++distance) {
    const int to = (team.self + distance) % team.size();
    const int from = (team.self - distance + team.size()) % team.size();
    std::vector<Transfer> transfers;
    for (const int rank : ranks_of(team.self)) {
      const Part range = part(all, rank);
      transfers.push_back(team.send_to(to, all.at(range.begin), range.size() * all.element_bytes()));
    }
    for (const int rank : ranks_of(from)) {
      const Part range = part(all, rank);
      transfers.push_back(team.receive_from(from, all.at(range.begin), range.size() * all.element_bytes()));
    }
    if (Status status = team.transport.run(transfers, team.deadline); !status) return status;
  }
  return {};
}

Status Hierarchy::broadcast(std::byte* data, size_t bytes, int root, Tag tag, const Deadline& deadline) {
  const Place source = place_of(root);
  if (own_.host == source.host) {
    if (Status status = broadcast_inside(data, bytes, source.member, deadline); !status) return status;
  }
  if (leads()) {
    if (Status status = tree_broadcast(leaders(tag, deadline), data, bytes, source.host); !status) return status;
  }
  return own_.host == source.host ? Status() : broadcast_inside(data, bytes, 0, deadline);
}

}  // namespace thalweg::comm
