// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/told_membership.h"
#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using comm::MemberInfo;
using comm::Membership;
using comm::RendezvousOptions;
using comm::View;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(MembershipTest, FormsAtOnceWhenFull) {
  for (const char* id : {"a", "b", "c", "d", "e"}) join(id);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(group_.waiting(), 1U);
  EXPECT_THAT(told("a"), ElementsAre("view"));
  EXPECT_THAT(told("e"), ElementsAre());
}

TEST_F(MembershipTest, WaitsForMoreAfterEachThatComes) {
  join("a");
  pass(seconds(3));
  EXPECT_EQ(group_.view().epoch, 0U);
  join("b");
  pass(milliseconds(400));
  join("c");
  pass(milliseconds(400));
  EXPECT_EQ(group_.view().epoch, 0U);
  pass(milliseconds(100));
  EXPECT_EQ(group_.view().epoch, 1U);
}

TEST_F(MembershipTest, TheNextEpochBeginsWhenAllSurvivorsAskForIt) {
  form_three();
  group_.lose("b", "connection closed", now_);
  EXPECT_THAT(told("a"), ElementsAre("over"));
  EXPECT_THAT(told("c"), ElementsAre("over"));
  group_.ready("a", 1, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 1U);
  group_.ready("c", 1, "", now_);
  pass(milliseconds(1));
  EXPECT_EQ(group_.view().epoch, 2U);
  EXPECT_THAT(ids(), ElementsAre("a", "c"));
}

TEST_F(MembershipTest, ASecondLossWhileTheyRegroupIsNoObstacle) {
  form_three();
  join("d");
  EXPECT_THAT(told("a"), ElementsAre("waiting"));
  group_.lose("b", "connection closed", now_);
  group_.ready("a", 1, "", now_);
  group_.lose("c", "connection closed", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "d"));
}

TEST_F(MembershipTest, AMemberThatDoesNotLeaveTheEpochIsLeftBehind) {
  form_three();
  group_.lose("b", "connection closed", now_);
  group_.ready("a", 1, "", now_);
  join("d");
  pass(seconds(11));
  EXPECT_THAT(ids(), ElementsAre("a", "d"));
}

TEST_F(MembershipTest, OneThatWasLeftBehindComesAnewWhenItLeavesItsEpoch) {
  leave_behind_c();
  group_.ready("c", 1, "", now_);
  for (const char* id : {"b", "d"}) group_.ready(id, 2, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("b", "d", "c"));
  EXPECT_THAT(told("c"), ElementsAre("view"));
}

TEST_F(MembershipTest, OneThatWasLeftBehindIsToldThatTheOthersHaveFinished) {
  leave_behind_c();
  group_.finish("b", now_);
  group_.ready("c", 1, "", now_);
  EXPECT_THAT(told("c"), ElementsAre("finished"));
}

TEST_F(MembershipTest, ANewcomerThatMembersCannotReachIsShutOut) {
  form_three();
  join("d");
  for (const char* id : {"a", "b", "c"}) group_.ready(id, 1, "", now_);
  pass(milliseconds(1));
  ASSERT_THAT(ids(), ElementsAre("a", "b", "c", "d"));
  told("d");
  // The newcomer's own word does not count against those who were there before.
  group_.ready("d", 2, "a did not connect", now_, "a");
  group_.ready("b", 2, "d did not connect", now_, "d");
  EXPECT_THAT(told("d"), ElementsAre("over", "failed"));
  for (const char* id : {"a", "c"}) group_.ready(id, 2, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c"));
}

TEST_F(MembershipTest, NobodyIsShutOutByOneThatCameAtTheSameTime) {
  form_three();
  group_.ready("a", 1, "b did not connect", now_, "b");
  for (const char* id : {"b", "c"}) group_.ready(id, 1, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c"));
}

TEST_F(MembershipTest, OneThatWasLostAndComesBackIsANewcomer) {
  form_three();
  const View first = group_.view();
  group_.lose("b", "nothing heard for 2 s", now_);
  group_.join(member("b"), first, now_);
  EXPECT_THAT(told("b"), ElementsAre("over"));
  group_.ready("a", 1, "", now_);
  group_.ready("c", 1, "", now_);
  // It may not have left its epoch yet: the others do not wait for it.
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "c"));
  group_.ready("b", 1, "", now_);
  group_.ready("a", 2, "", now_);
  group_.ready("c", 2, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "c", "b"));
  EXPECT_EQ(group_.view().epoch, 3U);
}

TEST_F(MembershipTest, FailsWithARollCallWhenTooFewAreLeft) {
  form_three();
  group_.lose("b", "x", now_);
  group_.lose("c", "x", now_);
  group_.ready("a", 1, "", now_);
  pass(seconds(59));
  EXPECT_TRUE(group_.error().empty());
  pass(seconds(2));
  EXPECT_THAT(group_.error(), HasSubstr("1 of at least 2 members came (name of a)"));
}

TEST(Views, AreReadBoundsFirst) {
  View view;
  view.epoch = 3;
  view.members = {member("a")};
  EXPECT_EQ(View::from_json(view.to_json()).to_json(), view.to_json());
  for (const char* text : {"[]", "{}", R"({"epoch": -1, "members": []})", R"({"epoch": 1, "members": {}})",
                           R"({"epoch": 1, "members": [1]})", R"({"epoch": 1, "members": [{"id": 5}]})"}) {
    EXPECT_NE(error_text([&] { View::from_json(json::parse(text)); }), "no error") << text;
  }
  json long_name = member("a").to_json();
  long_name["name"] = std::string(10000, 'x');
  EXPECT_THAT(error_text([&] { MemberInfo::from_json(long_name); }), HasSubstr("10000 bytes"));
}

class SeatTest : public MembershipTest {
 protected:
  SeatTest() { group_ = Membership(options(3, 3), now_); }
  void join_seat(const std::string& id, int seat, uint32_t attempt = 0) {
    MemberInfo info = member(id);
    info.seat = seat;
    info.attempt = attempt;
    group_.join(info, std::nullopt, now_);
  }
  void prepare_seat(const std::string& id, int seat) {
    MemberInfo info = member(id);
    info.seat = seat;
    group_.join(info, std::nullopt, now_, true);
  }
  void form_with_seats() {
    join_seat("c", 2);
    join_seat("a", 0);
    join_seat("b", 1);
    pass(milliseconds(1));
    ASSERT_THAT(ids(), ElementsAre("a", "b", "c"));
    group_.take_notices();
  }
};

TEST_F(SeatTest, SeatsAreRanks) { form_with_seats(); }

TEST_F(SeatTest, ASecondOneForASeatIsNoOneForAnother) {
  join_seat("a", 0);
  join_seat("again", 0);
  join_seat("b", 1);
  pass(seconds(1));
  EXPECT_EQ(group_.view().epoch, 0U);
  join_seat("c", 2);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c"));
}

TEST_F(SeatTest, TheOneThatWaitsTakesTheSeatOfTheLost) {
  form_with_seats();
  join_seat("spare", 1);
  EXPECT_THAT(told("spare"), ElementsAre());
  group_.lose("b", "killed", now_);
  for (const char* id : {"a", "c"}) group_.ready(id, 1, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "spare", "c"));
}

TEST_F(SeatTest, ALaterAttemptIsToldThatTheSeatIsTaken) {
  form_with_seats();
  join_seat("later", 1, 1);
  EXPECT_THAT(told("later"), ElementsAre("taken"));
  group_.lose("b", "killed", now_);
  join_seat("later still", 1, 1);
  for (const char* id : {"a", "c"}) group_.ready(id, 1, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "later still", "c"));
}

TEST_F(SeatTest, ASeatIsForsakenWhoseHolderIsLostAfterALaterAttemptWasRefused) {
  form_with_seats();
  group_.lose("b", "killed", now_);
  EXPECT_THAT(group_.forsaken_seats(), IsEmpty());
  join_seat("later", 0, 1);
  EXPECT_THAT(group_.forsaken_seats(), IsEmpty());
  group_.lose("a", "killed", now_);
  EXPECT_THAT(group_.forsaken_seats(), ElementsAre(0));
  join_seat("rescuer", 0);
  EXPECT_THAT(group_.forsaken_seats(), IsEmpty());
  group_.lose("rescuer", "killed", now_);
  group_.finish("c", now_);
  EXPECT_THAT(group_.forsaken_seats(), IsEmpty());
}

TEST_F(SeatTest, AfterARestartALaterAttemptIsToldAsSoonAsTheHolderIsKnown) {
  View known = view_of(7, {"a", "b", "c"});
  for (int seat = 0; seat < 3; ++seat) known.members[static_cast<size_t>(seat)].seat = seat;
  join_seat("later", 1, 1);
  EXPECT_THAT(told("later"), ElementsAre());
  group_.join(known.members[0], known, now_);
  EXPECT_THAT(told("later"), ElementsAre("taken"));
  EXPECT_EQ(group_.waiting(), 0U);
  // Its holder does not come back.
  group_.join(known.members[2], known, now_);
  pass(seconds(21));
  EXPECT_THAT(group_.forsaken_seats(), ElementsAre(1));
}

TEST_F(SeatTest, ThereAreOnlySoMany) {
  EXPECT_THAT(error_text([&] { join_seat("d", 3); }), HasSubstr("no seat 3 in a group of 3"));
}

TEST_F(SeatTest, WhoPreparesItselfIsWaitedForAsLongAsItLives) {
  prepare_seat("a", 0);
  EXPECT_THAT(told("a"), ElementsAre("seated"));
  EXPECT_EQ(group_.present(), 1);
  pass(seconds(30));
  join_seat("b", 1);
  prepare_seat("c", 2);
  EXPECT_EQ(group_.preparing().size(), 2U);
  pass(seconds(1000));
  EXPECT_EQ(group_.error(), "");
  group_.ready("a", 0, "", now_);
  pass(seconds(1000));
  EXPECT_EQ(group_.view().epoch, 0U);
  group_.ready("c", 0, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(group_.preparing(), IsEmpty());
}

TEST_F(SeatTest, TheClockRunsWhileASeatIsEmptyAndSaysWhich) {
  prepare_seat("a", 0);
  prepare_seat("c", 2);
  pass(seconds(59));
  prepare_seat("b", 1);
  pass(seconds(100));
  EXPECT_EQ(group_.error(), "");
  group_.lose("b", "killed", now_);
  pass(seconds(59));
  EXPECT_EQ(group_.error(), "");
  pass(seconds(2));
  EXPECT_THAT(group_.error(),
              HasSubstr("2 of at least 3 members came (name of a, name of c), nobody for seat 1. For 60 s"));
}

TEST_F(SeatTest, TheClockOfAQueueStartsWithTheFirstThatComes) {
  RendezvousOptions queued = options(3, 3);
  queued.queued = true;
  group_ = Membership(queued, now_);
  pass(seconds(1000));
  EXPECT_EQ(group_.error(), "");
  join_seat("a", 0);
  pass(seconds(59));
  EXPECT_EQ(group_.error(), "");
  pass(seconds(2));
  EXPECT_THAT(group_.error(), HasSubstr("1 of at least 3 members came (name of a), nobody for seat 1, 2"));
}

TEST_F(SeatTest, AfterALossTheNewOneMayPrepareItselfForAnyTime) {
  form_with_seats();
  group_.lose("b", "killed", now_);
  for (const char* id : {"a", "c"}) group_.ready(id, 1, "", now_);
  pass(seconds(50));
  prepare_seat("again", 1);
  pass(seconds(1000));
  EXPECT_EQ(group_.error(), "");
  group_.ready("again", 0, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a", "again", "c"));
}

TEST_F(SeatTest, ASpareDoesNotPrepareItselfBeforeItHasTheSeat) {
  prepare_seat("a", 0);
  prepare_seat("spare", 0);
  EXPECT_THAT(told("spare"), ElementsAre());
  EXPECT_EQ(group_.present(), 1);
  pass(seconds(30));
  group_.lose("a", "killed", now_);
  EXPECT_THAT(told("spare"), ElementsAre("seated"));
}

/// What the group makes is wanted.
class ResultTest : public SeatTest {
 protected:
  ResultTest() {
    RendezvousOptions wanting = options(3, 3);
    wanting.wants_result = true;
    group_ = Membership(wanting, now_);
  }
  void finish_all() {
    form_with_seats();
    for (const char* id : {"b", "a", "c"}) group_.finish(id, now_);
  }
};

TEST_F(ResultTest, OneIsAskedAndTheOthersStayUntilItIsAccepted) {
  finish_all();
  EXPECT_TRUE(group_.finished());
  EXPECT_THAT(told("a"), ElementsAre("hand_over"));
  group_.handed_over("a", now_);
  group_.lose("a", "it has left", now_);
  pass(seconds(30));
  EXPECT_THAT(told("b"), ElementsAre());
  group_.accept_result();
  EXPECT_THAT(told("b"), ElementsAre("accepted"));
  EXPECT_THAT(told("c"), ElementsAre("accepted"));
  prepare_seat("late", 1);
  EXPECT_THAT(told("late"), ElementsAre("accepted", "finished"));
}

TEST_F(ResultTest, AnotherIsAskedIfTheFirstIsLost) {
  finish_all();
  group_.lose("a", "killed", now_);
  EXPECT_THAT(told("b"), ElementsAre("hand_over"));
  // Its work is done, but what it ends with must not count before the result is there.
  prepare_seat("again", 0);
  EXPECT_THAT(told("again"), ElementsAre());
  group_.handed_over("b", now_);
  group_.accept_result();
  EXPECT_THAT(told("again"), ElementsAre("accepted", "finished"));
  EXPECT_EQ(group_.error(), "");
}

TEST_F(ResultTest, AnotherIsAskedIfWhatWasSentIsLost) {
  finish_all();
  group_.handed_over("a", now_);
  group_.lose("a", "it has left", now_);
  prepare_seat("again", 0);
  EXPECT_THAT(told("b"), ElementsAre("hand_over"));
  group_.handed_over("b", now_);
  group_.lose("b", "it has left", now_);
  // Nobody says so this time.
  pass(seconds(61));
  EXPECT_THAT(told("c"), ElementsAre("hand_over"));
}

TEST_F(ResultTest, ASpareEndsNotBeforeTheOneThatHasItsSeat) {
  form_with_seats();
  prepare_seat("spare", 0);
  for (const char* id : {"a", "b", "c"}) group_.finish(id, now_);
  group_.handed_over("a", now_);
  group_.accept_result();
  EXPECT_THAT(told("spare"), ElementsAre());
  group_.lose("a", "it has left", now_);
  EXPECT_THAT(told("spare"), ElementsAre("accepted", "finished"));
}

TEST_F(ResultTest, ALaterAttemptWaitsToo) {
  finish_all();
  join_seat("later", 0, 1);
  EXPECT_THAT(told("later"), ElementsAre());
}

TEST_F(ResultTest, WhoseSeatWasRefusedIsNotAsked) {
  form_with_seats();
  join_seat("later", 0, 1);
  EXPECT_THAT(told("later"), ElementsAre("taken"));
  group_.finish("a", now_);
  EXPECT_THAT(told("b"), ElementsAre("hand_over"));
}

TEST_F(ResultTest, AMemberThatLostTheConnectionIsStillAsked) {
  finish_all();
  const View view = group_.view();
  MemberInfo back = view.members[1];
  group_.lose("b", "connection closed", now_);
  group_.join(back, view, now_);
  group_.lose("a", "killed", now_);
  EXPECT_THAT(told("b"), ElementsAre("hand_over"));
}

TEST_F(ResultTest, WhoeverMissedTheEndIsTold) {
  form_with_seats();
  group_.finish("a", now_);
  group_.ready("b", 1, "the connection to rank 0 broke", now_);
  EXPECT_THAT(told("b"), ElementsAre("finished"));
  group_.lose("a", "killed", now_);
  EXPECT_THAT(told("b"), ElementsAre("hand_over"));
}

TEST_F(ResultTest, AlsoIfItLeftBeforeAnybodyElseWasThere) {
  form_with_seats();
  group_.ready("b", 1, "the connection to rank 0 broke", now_);
  EXPECT_THAT(told("b"), ElementsAre("over"));
  group_.finish("a", now_);
  EXPECT_THAT(told("b"), ElementsAre("finished"));
  EXPECT_THAT(told("c"), ElementsAre("over"));
}

TEST_F(ResultTest, IfAllAreLostTheyBeginAnew) {
  finish_all();
  prepare_seat("a2", 0);
  for (const char* id : {"a", "b", "c"}) group_.lose(id, "killed", now_);
  EXPECT_FALSE(group_.finished());
  EXPECT_THAT(told("a2"), ElementsAre("seated"));
  join_seat("b2", 1);
  join_seat("c2", 2);
  group_.ready("a2", 0, "", now_);
  pass(milliseconds(1));
  EXPECT_THAT(ids(), ElementsAre("a2", "b2", "c2"));
  EXPECT_EQ(group_.view().epoch, 2U);
}

TEST_F(SeatTest, OneMemberCanEndTheJobForAll) {
  form_with_seats();
  group_.fail("b", "row 7: no such file");
  EXPECT_EQ(group_.error(), "name of b: row 7: no such file");
  EXPECT_THAT(told("a"), ElementsAre("failed"));
}

}  // namespace
}  // namespace thalweg::testing
