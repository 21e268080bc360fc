// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Members that the rendezvous hears of but their peers cannot reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "comm/control_channel.h"
#include "support/error_text.h"
#include "support/patience.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSecret = "secret";
const std::chrono::milliseconds kLong = 2 * patience();
/// Half of it goes by until somebody is given up; the other half is for going on.
constexpr std::chrono::seconds kReach{4};

class Unreachable : public ::testing::Test {
 protected:
  void meet(int least, std::chrono::milliseconds form_timeout) {
    comm::RendezvousOptions meeting;
    meeting.secret = kSecret;
    meeting.min_size = least;
    meeting.max_size = 2;
    meeting.settle = std::chrono::seconds(0);
    meeting.form_timeout = form_timeout;
    meeting.silence = kLong;
    meeting.log = [](const std::string&) {};
    rendezvous_ = std::make_unique<comm::Rendezvous>(meeting);
  }
  comm::GroupOptions options(std::chrono::milliseconds form_timeout) const {
    comm::GroupOptions result;
    result.rendezvous = rendezvous_->address();
    result.secret = kSecret;
    result.silence = kLong;
    result.form_timeout = form_timeout;
    result.log = [](const std::string&) {};
    return result;
  }
  /// Talks to the rendezvous as a member does, at an address where nobody listens.
  std::unique_ptr<comm::ControlChannel> make_mute(int seat = -1) const {
    const comm::MemberInfo info{"mute", "mute", "other host", "", "", "l", seat};
    return std::make_unique<comm::ControlChannel>(options(kLong), info, 1, Deadline(kLong), false);
  }
  /// False where a busy machine has left no time for going on.
  static bool goes_on_without(comm::Group& group, comm::ControlChannel& mute) {
    EXPECT_TRUE(eventually([&] { return group.newcomers_waiting(); }));
    const std::string failure = error_text([&] { group.next_epoch(""); });
    if (failure.find("did not come together again") != std::string::npos) return false;
    EXPECT_EQ(failure, "no error");
    EXPECT_EQ(group.size(), 1);
    EXPECT_TRUE(group.communicator().barrier().ok());
    EXPECT_THAT(error_text([&] { mute.next(2, ""); }), HasSubstr("cannot reach it at"));
    return true;
  }

  std::unique_ptr<comm::Rendezvous> rendezvous_;
};

TEST_F(Unreachable, TheGroupGoesOnWithoutANewcomerThatItCannotReach) {
  EXPECT_TRUE(in_some_attempt([&] {
    meet(1, kLong);
    const std::unique_ptr<comm::Group> group = comm::Group::join(options(kReach));
    const std::unique_ptr<comm::ControlChannel> mute = make_mute();
    return goes_on_without(*group, *mute);
  }));
}

TEST_F(Unreachable, ANewcomerThatMembersConnectToIsGivenUpWhereItRefuses) {
  EXPECT_TRUE(in_some_attempt([&] {
    meet(1, kLong);
    // By its seat the newcomer comes before the member, which therefore is the one that connects.
    comm::GroupOptions second = options(kReach);
    second.seat = 1;
    const std::unique_ptr<comm::Group> group = comm::Group::join(second);
    const std::unique_ptr<comm::ControlChannel> mute = make_mute(0);
    return goes_on_without(*group, *mute);
  }));
}

TEST_F(Unreachable, AGroupThatCannotFormAgainIsAnErrorAndNothingWorse) {
  EXPECT_TRUE(in_some_attempt([&] {
    meet(2, std::chrono::milliseconds(500));
    auto other = std::async(std::launch::async, [&] { return comm::Group::join(options(kLong)); });
    std::unique_ptr<comm::Group> group;
    const std::string late = error_text([&] {
      group = comm::Group::join(options(kReach));
      other.get().reset();
    });
    if (group == nullptr) return false;
    const std::unique_ptr<comm::ControlChannel> mute = make_mute();
    const std::string text = error_text([&] { group->next_epoch("the other is gone"); });
    // As a scheme does that gives up.
    group->communicator().abort("this worker has left");
    EXPECT_FALSE(group->communicator().barrier().ok());
    return text.find("the group did not form") != std::string::npos;
  }));
}

}  // namespace
}  // namespace thalweg::testing
