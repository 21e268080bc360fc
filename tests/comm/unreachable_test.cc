// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Members that the rendezvous hears of but their peers cannot reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "comm/control_channel.h"
#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSecret = "secret";
constexpr std::chrono::seconds kLong{120};
/// Half of it goes by until somebody is given up; the other half does for going on, however busy the machine is.
constexpr std::chrono::seconds kPatient{6};

class Unreachable : public ::testing::Test {
 protected:
  void meet(int least, std::chrono::milliseconds form_timeout) {
    comm::RendezvousOptions meeting;
    meeting.secret = kSecret;
    meeting.min_size = least;
    meeting.max_size = 2;
    meeting.settle = std::chrono::milliseconds(50);
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

  std::unique_ptr<comm::Rendezvous> rendezvous_;
};

TEST_F(Unreachable, TheGroupGoesOnWithoutANewcomerThatItCannotReach) {
  meet(1, kLong);
  const std::unique_ptr<comm::Group> group = comm::Group::join(options(kPatient));
  const std::unique_ptr<comm::ControlChannel> mute = make_mute();
  while (!group->newcomers_waiting()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  group->next_epoch("");
  EXPECT_EQ(group->size(), 1);
  EXPECT_TRUE(group->communicator().barrier().ok());
  EXPECT_THAT(error_text([&] { mute->next(2, ""); }), HasSubstr("cannot reach it at"));
}

TEST_F(Unreachable, ANewcomerThatMembersConnectToIsGivenUpWhereItRefuses) {
  meet(1, kLong);
  // By its seat the newcomer comes before the member, which therefore is the one that connects.
  comm::GroupOptions second = options(kPatient);
  second.seat = 1;
  const std::unique_ptr<comm::Group> group = comm::Group::join(second);
  const std::unique_ptr<comm::ControlChannel> mute = make_mute(0);
  while (!group->newcomers_waiting()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  group->next_epoch("");
  EXPECT_EQ(group->size(), 1);
  EXPECT_THAT(error_text([&] { mute->next(2, ""); }), HasSubstr("cannot reach it at"));
}

TEST_F(Unreachable, AGroupThatCannotFormAgainIsAnErrorAndNothingWorse) {
  meet(2, std::chrono::milliseconds(500));
  auto other = std::async(std::launch::async, [&] { return comm::Group::join(options(kLong)); });
  const std::unique_ptr<comm::Group> group = comm::Group::join(options(std::chrono::seconds(2)));
  other.get().reset();
  const std::unique_ptr<comm::ControlChannel> mute = make_mute();
  EXPECT_THAT(error_text([&] { group->next_epoch("the other is gone"); }), HasSubstr("the group did not form"));
  // As a scheme does that gives up.
  group->communicator().abort("this worker has left");
  EXPECT_FALSE(group->communicator().barrier().ok());
}

}  // namespace
}  // namespace thalweg::testing
