// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What a member says before it leaves has been noted by the rendezvous when the call returns.
#include <gtest/gtest.h>

#include "base/deadline.h"
#include "thalweg/comm.h"

namespace thalweg::testing {
namespace {

using comm::Group;
using comm::Rendezvous;

std::unique_ptr<Rendezvous> meeting_of_one() {
  comm::RendezvousOptions options;
  options.secret = "the job's secret";
  options.settle = std::chrono::milliseconds(0);
  options.log = [](const std::string&) {};
  return std::make_unique<Rendezvous>(options);
}

std::unique_ptr<Group> join(const Rendezvous& rendezvous) {
  comm::GroupOptions options;
  options.rendezvous = rendezvous.address();
  options.secret = "the job's secret";
  options.name = "alone";
  return Group::join(options);
}

TEST(LastWords, WhyTheJobCannotBeDoneIsKnownWhenFailReturns) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto rendezvous = meeting_of_one();
    const auto member = join(*rendezvous);
    member->fail("row 7: no such file");
    ASSERT_EQ(rendezvous->state().error, "alone: row 7: no such file") << "repeat " << repeat;
  }
}

TEST(LastWords, TheEndIsKnownWhenFinishReturns) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto rendezvous = meeting_of_one();
    const auto member = join(*rendezvous);
    member->finish();
    ASSERT_TRUE(rendezvous->state().finished) << "repeat " << repeat;
  }
}

TEST(LastWords, ARepeatedOneIsAnsweredToo) {
  const auto rendezvous = meeting_of_one();
  const auto member = join(*rendezvous);
  const Deadline deadline(std::chrono::seconds(60));
  for (int repeat = 0; repeat < 20; ++repeat) member->fail("no try " + std::to_string(repeat));
  EXPECT_EQ(rendezvous->state().error, "alone: no try 0");
  EXPECT_LT(deadline.elapsed(), 3) << "each may wait for 5 s";
}

TEST(LastWords, AreNotWaitedForWithoutARendezvous) {
  auto rendezvous = meeting_of_one();
  const auto member = join(*rendezvous);
  rendezvous.reset();
  const Deadline deadline(std::chrono::seconds(60));
  member->fail("nobody hears this");
  EXPECT_LT(deadline.elapsed(), 4);
}

}  // namespace
}  // namespace thalweg::testing
