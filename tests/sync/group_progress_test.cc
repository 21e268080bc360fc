// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/group_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

comm::Rendezvous::Member member(const std::string& name, double pace, int64_t step = 12) {
  return {name, R"({"loss": 0.5, "samples_per_second": 30640, "data_wait": 0.1, "exchange_wait": 0.2, "step": )" +
                    std::to_string(step) + R"(, "pace": )" + std::to_string(pace) + "}"};
}

TEST(GroupProgressLine, SaysHowTheGroupFares) {
  EXPECT_EQ(sync::group_progress({member("worker 0", 0.1), member("worker 1", 0.1)}),
            "2 workers  step 12  loss 0.5000  30640 samples/s  waiting for data 10%, for others 20%");
}

TEST(GroupProgressLine, NamesTheWorkerThatKeepsOthersWaiting) {
  EXPECT_THAT(sync::group_progress({member("worker 0", 0.1), member("worker 1", 0.25), member("worker 2", 0.09)}),
              EndsWith("for others 20%  worker 1 takes 2.5 times as long as others"));
  EXPECT_THAT(sync::group_progress({member("worker 0", 0.3), member("worker 1", 0.1)}),
              EndsWith("  worker 0 takes 3.0 times as long as others"));
}

TEST(GroupProgressLine, NamesNobodyForWhatIsUsualOrUnknown) {
  for (const double other : {0.1, 0.12, 0.08, 0.0}) {
    EXPECT_THAT(sync::group_progress({member("worker 0", 0.1), member("worker 1", other)}), Not(HasSubstr("times as")))
        << other;
  }
  EXPECT_THAT(sync::group_progress({member("worker 0", 0.1)}), Not(HasSubstr("times as")));
}

TEST(GroupProgressLine, FitsATerminal) {
  constexpr size_t kWidth = 79;
  const auto shown = [](double pace, int64_t step) {
    return sync::group_progress({member("worker 0", 0.1, step), member("worker 1", pace, step)}, kWidth);
  };
  EXPECT_EQ(shown(0.1, 12), "2 workers  step 12  loss 0.5  30640 samples/s  wait: data 10% others 20%");
  EXPECT_EQ(shown(0.1, 1'234'567'890'123), "step 1234567890123  loss 0.5  30640 samples/s  wait: data 10% others 20%");
  EXPECT_EQ(shown(0.25, 1234), "loss 0.5  30640 samples/s  wait: data 10% others 20%  worker 1 2.5x slow");
}

TEST(GroupProgressLine, NamesNobodyWhosePaceIsUnknown) {
  EXPECT_THAT(sync::group_progress({member("worker 0", 0.1), member("worker 1", 0), member("worker 2", 0.11)}),
              EndsWith("for others 20%"));
  EXPECT_THAT(sync::group_progress({member("worker 0", 0.3), member("worker 1", 0)}), EndsWith("for others 20%"));
}

TEST(GroupProgressLine, KnowsTheStepOfTheOneThatIsFurthest) {
  EXPECT_EQ(sync::group_step({}), 0);
  EXPECT_EQ(sync::group_step({{"worker 0", ""}, member("worker 1", 0.1, 7), member("worker 2", 0.1, 5)}), 7);
}

TEST(GroupProgressLine, TakesStepsThatNobodyCanHaveMade) {
  EXPECT_EQ(sync::group_step({{"worker 0", R"({"step": 1e300})"}}), 1'000'000'000'000'000'000);
  EXPECT_EQ(sync::group_step({{"worker 0", R"({"step": -1e300})"}}), 0);
}

TEST(GroupProgressLine, TakesMembersThatHaveSaidNothingOrNonsense) {
  EXPECT_EQ(sync::group_progress({}), "");
  EXPECT_EQ(sync::group_progress({{"worker 0", ""}, {"worker 1", "[1, 2"}}), "");
  EXPECT_THAT(sync::group_progress({{"worker 0", ""}, member("worker 1", 0.1)}), HasSubstr("2 workers  step 12"));
  EXPECT_THAT(sync::group_progress({{"worker 0", R"({"step": "many", "loss": null})"}, member("worker 1", 0.1)}),
              HasSubstr("2 workers  step 12"));
}

}  // namespace
}  // namespace thalweg::testing
