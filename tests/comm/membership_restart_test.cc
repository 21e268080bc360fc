// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Members that come back: to a rendezvous that was started again, or after they have lost the connection.
#include "comm/told_membership.h"

namespace thalweg::testing {
namespace {

using comm::View;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Reconnected : public MembershipTest {};

TEST_F(Reconnected, WhoSaysTwiceThatItHasLeftAnEpochIsNotReadyForTheOneAfterTheNext) {
  form_three();
  for (const char* id : {"a", "b", "c"}) group_.ready(id, 1, "", now_);
  pass(milliseconds(1));
  ASSERT_EQ(group_.view().epoch, 2U);
  // It had lost its connection, and says all again that may have been lost with it.
  group_.ready("b", 1, "a connection broke", now_);
  EXPECT_THAT(told("a"), ElementsAre("view")) << "nobody has left epoch 2";
  for (const char* id : {"a", "c"}) group_.ready(id, 2, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 2U) << "b is still in it";
  group_.ready("b", 2, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 3U);
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c"));
}

TEST_F(Reconnected, ARestartedRendezvousTakesTheViewOfItsMembers) {
  View known;
  known.epoch = 7;
  known.members = {member("a"), member("b"), member("c")};
  group_.join(member("b"), known, now_);
  group_.join(member("a"), known, now_);
  // Far longer than a member may be silent: it has to find out that the rendezvous is back.
  pass(seconds(19));
  EXPECT_EQ(group_.view().epoch, 7U);
  EXPECT_THAT(told("a"), ElementsAre());
  // The third does not come back.
  pass(seconds(2));
  EXPECT_THAT(told("a"), ElementsAre("over"));
  group_.ready("a", 7, "", now_);
  group_.ready("b", 7, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 8U);
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
}

TEST_F(Reconnected, ARestartedRendezvousTakesTheViewAlsoIfANewcomerIsFirst) {
  const View known = view_of(7, {"a", "b", "c"});
  join("new");
  group_.join(member("b"), known, now_);
  EXPECT_EQ(group_.view().epoch, 7U);
  for (const char* id : {"a", "c"}) group_.join(member(id), known, now_);
  pass(seconds(21));
  EXPECT_EQ(group_.view().epoch, 7U);
  // All know of the newcomer, and nobody was told that the epoch is over.
  EXPECT_THAT(told("c"), ElementsAre("waiting"));
  for (const char* id : {"a", "b", "c"}) group_.ready(id, 7, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 8U);
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c", "new"));
}

TEST_F(Reconnected, AfterARestartAnEpochFollowsTheLatestThatAnybodyKnows) {
  group_.join(member("a"), view_of(7, {"a", "b"}), now_);
  group_.join(member("b"), view_of(8, {"a", "b"}), now_);
  EXPECT_THAT(told("a"), ElementsAre("over"));
  EXPECT_THAT(told("b"), ElementsAre("over"));
  group_.ready("a", 7, "", now_);
  group_.ready("b", 8, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 9U);
  EXPECT_THAT(ids(), ElementsAre("a", "b"));
}

TEST_F(Reconnected, WhoWasNotToldOfTheLastEpochBeforeARestartIsANewcomer) {
  join("new");
  group_.join(member("a"), view_of(8, {"a", "b", "new"}), now_);
  group_.join(member("b"), view_of(8, {"a", "b", "new"}), now_);
  // Once before it was back.
  EXPECT_THAT(told("b"), ElementsAre("over", "over"));
  for (const char* id : {"a", "b"}) group_.ready(id, 8, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 9U);
  EXPECT_THAT(ids(), ElementsAre("a", "b", "new"));
}

TEST_F(Reconnected, SurvivorsThatComeAfterANewGroupHasFormedJoinIt) {
  for (const char* id : {"x", "y"}) join(id);
  pass(milliseconds(500));
  EXPECT_EQ(group_.view().epoch, 1U);
  group_.join(member("a"), view_of(7, {"a"}), now_);
  group_.ready("a", 7, "", now_);
  for (const char* id : {"x", "y"}) group_.ready(id, 1, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 8U);
  EXPECT_THAT(ids(), ElementsAre("x", "y", "a"));
}

TEST_F(Reconnected, NobodyIsTakenBeyondTheLastEpochThatCanBe) {
  constexpr uint64_t kLast = uint64_t{1} << 22U;
  group_.join(member("a"), view_of(kLast, {"a", "b"}), now_);
  group_.join(member("b"), view_of(kLast, {"a", "b"}), now_);
  for (const char* id : {"a", "b"}) group_.ready(id, kLast, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(group_.error(), HasSubstr("has gone through 4194304 epochs"));
}

}  // namespace
}  // namespace thalweg::testing
