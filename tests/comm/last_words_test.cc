// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What a member says before it leaves has been noted by the rendezvous when the call returns.
#include <gtest/gtest.h>

#include <future>

#include "base/deadline.h"
#include "support/patience.h"
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
  const Deadline deadline(patience());
  for (int repeat = 0; repeat < 20; ++repeat) member->fail("no try " + std::to_string(repeat));
  EXPECT_EQ(rendezvous->state().error, "alone: no try 0");
  EXPECT_FALSE(deadline.expired()) << "each waits for 5 s if there is no answer";
}

TEST(LastWords, AreNotWaitedForWithoutARendezvous) {
  auto rendezvous = meeting_of_one();
  const auto member = join(*rendezvous);
  rendezvous.reset();
  auto failing = std::async(std::launch::async, [&] { member->fail("nobody hears this"); });
  EXPECT_TRUE(comes(failing));
}

}  // namespace
}  // namespace thalweg::testing
