// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/algorithms.h"
#include "comm/host_group.h"

namespace thalweg::comm {

/// Which ranks share a host: lists of ranks in ascending order, ordered by their first.
using Hosts = std::vector<std::vector<int>>;

/// Collective operations of members some of whom share hosts: first inside each host, through its memory, then between
/// the first members of the hosts, by messages, and back inside. So between two hosts travels what it would if each
/// were one member. Every member makes the same calls, with the tags of its messages.
class Hierarchy {
 public:
  /// `host` is null if this member is alone on its host. All of it must outlive this object.
  Hierarchy(Transport& transport, HostGroup* host, const Hosts& hosts);

  Status all_reduce(const Elements& all, Tag tag, const Deadline& deadline);
  Status reduce(const Elements& all, int root, Tag tag, const Deadline& deadline);
  Status reduce_scatter(const Elements& all, Tag tag, const Deadline& deadline);
  Status all_gather(const Elements& all, Tag tag, const Deadline& deadline);
  Status broadcast(std::byte* data, size_t bytes, int root, Tag tag, const Deadline& deadline);

 private:
  struct Place {
    int host = 0;
    /// Among the members of that host.
    int member = 0;
  };
  Place place_of(int rank) const;
  bool leads() const { return own_.member == 0; }
  Team leaders(Tag tag, const Deadline& deadline) const { return {transport_, leaders_, own_.host, tag, deadline}; }
  const std::vector<int>& ranks_of(int host) const { return hosts_[static_cast<size_t>(host)]; }
  Part part(const Elements& all, int rank) const { return part_of(all.count, transport_.size(), rank); }

  /// The first member of every host ends with the reduction of its host's.
  Status reduce_inside(const Elements& all, const Deadline& deadline);
  Status broadcast_inside(std::byte* data, size_t bytes, int member, const Deadline& deadline);
  /// Among the first members: each ends with the parts of its host's ranks reduced, or with everybody's parts.
  Status reduce_parts(const Team& team, const Elements& all) const;
  Status exchange_parts(const Team& team, const Elements& all) const;

  Transport& transport_;
  HostGroup* host_;
  const Hosts& hosts_;
  /// The first rank of every host.
  std::vector<int> leaders_;
  Place own_;
};

}  // namespace thalweg::comm
