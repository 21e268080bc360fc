// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "comm/local_group.h"
#include "comm/mpi_member.h"

namespace thalweg::testing {

/// How the members of a test group are connected. Without hosts: by MPI, each in a process of its own.
struct Layout {
  const char* name;
  comm::Hosts hosts;
  int streams = 1;
  bool tls = false;
};

inline std::vector<Layout> layouts() {
  if (under_mpirun()) return {{"mpi", {}}};
  return {{"memory2", LocalGroup::one_host(2)},
          {"memory3", LocalGroup::one_host(3)},
          {"memory5", LocalGroup::one_host(5)},
          {"sockets2", LocalGroup::own_hosts(2), 3},
          {"sockets3", LocalGroup::own_hosts(3)},
          {"sockets4", LocalGroup::own_hosts(4), 2},
          {"sockets7", LocalGroup::own_hosts(7)},
          {"hosts3_2_1", {{0, 2, 4}, {1, 3}, {5}}},
          {"hosts2_2", {{0, 1}, {2, 3}}},
          {"tls2", LocalGroup::own_hosts(2), 3, true},
          {"tls5", LocalGroup::own_hosts(5), 1, true}};
}

/// A test that runs once in each layout.
class InEveryLayout : public ::testing::TestWithParam<Layout> {
 protected:
  InEveryLayout() {
    if (!under_mpirun()) local_.emplace(GetParam().hosts, GetParam().streams, patience(), GetParam().tls);
  }
  /// Runs `body` for every member that lives in this process.
  void run(const std::function<void(comm::Communicator&)>& body) {
    if (local_) {
      local_->run(body);
    } else {
      body(MpiMember::group().communicator());
    }
  }
  int size() { return local_ ? local_->member(0).size() : MpiMember::group().size(); }

 private:
  std::optional<LocalGroup> local_;
};

inline std::string layout_name(const ::testing::TestParamInfo<Layout>& test) { return test.param.name; }

}  // namespace thalweg::testing
