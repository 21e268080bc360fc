// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "comm/membership.h"

namespace thalweg::testing {

inline comm::MemberInfo member(const std::string& id) {
  return {id, "name of " + id, "host", "127.0.0.1:1", "", "local"};
}

inline comm::View view_of(uint64_t epoch, const std::vector<std::string>& ids) {
  comm::View view;
  view.epoch = epoch;
  for (const std::string& id : ids) view.members.push_back(member(id));
  return view;
}

/// Told what happens at times of its own.
class MembershipTest : public ::testing::Test {
 protected:
  static comm::RendezvousOptions options(int least, int most) {
    comm::RendezvousOptions result;
    result.min_size = least;
    result.max_size = most;
    result.settle = std::chrono::milliseconds(500);  // patience: the clock is the test's own
    result.form_timeout = std::chrono::seconds(60);
    result.regroup_timeout = std::chrono::seconds(10);
    result.silence = std::chrono::seconds(2);
    result.return_timeout = std::chrono::seconds(20);
    return result;
  }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    group_.tick(now_);
  }
  void join(const std::string& id) { group_.join(member(id), std::nullopt, now_); }
  std::vector<std::string> ids() const {
    std::vector<std::string> result;
    for (const comm::MemberInfo& info : group_.view().members) result.push_back(info.id);
    return result;
  }
  /// Types of the messages to one member since the last call.
  std::vector<std::string> told(const std::string& id) {
    for (comm::Notice& notice : group_.take_notices()) inbox_[notice.id].push_back(notice.message.at("type"));
    return std::move(inbox_[id]);
  }
  void form_three() {
    for (const char* id : {"a", "b", "c"}) join(id);
    pass(std::chrono::milliseconds(500));
    ASSERT_THAT(ids(), ::testing::ElementsAre("a", "b", "c"));
    group_.take_notices();
  }
  /// In epoch 2, of "b" and "d"; "c" is still in the first.
  void leave_behind_c() {
    form_three();
    group_.lose("a", "gone", now_);
    group_.ready("b", 1, "", now_);
    pass(std::chrono::seconds(11));
    join("d");
    pass(std::chrono::milliseconds(500));
    ASSERT_THAT(ids(), ::testing::ElementsAre("b", "d"));
    told("c");
  }

  comm::Membership::Time now_ = comm::Membership::Time() + std::chrono::seconds(1000);
  comm::Membership group_{options(2, 4), now_};
  std::map<std::string, std::vector<std::string>> inbox_;
};

}  // namespace thalweg::testing
