// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/step_pace.h"

#include <gtest/gtest.h>

namespace thalweg::testing {
namespace {

/// A worker that takes steps of one length, in epochs of so many, and waits for a part of each.
class Steps {
 public:
  Steps(double seconds, double waiting, int64_t per_epoch)
      : seconds_(seconds), waiting_(waiting), per_epoch_(per_epoch) {}

  TrainState next() {
    state_.batch = state_.batch % per_epoch_ + 1;
    if (state_.batch == 1) state_.epoch_seconds = 0;
    state_.epoch_seconds += seconds_;
    state_.data_wait_share = state_.exchange_wait_share = waiting_ / 2;
    return state_;
  }

 private:
  double seconds_, waiting_;
  int64_t per_epoch_;
  TrainState state_;
};

double pace_after(int steps, Steps worker) {
  sync::StepPace pace;
  for (int i = 0; i < steps; ++i) pace.add(worker.next());
  return pace.seconds();
}

TEST(StepPace, IsKnownAfterEnoughStepsAndTime) {
  // The first step does not count.
  EXPECT_EQ(pace_after(10, Steps(1, 0, 1000)), 0);
  EXPECT_NEAR(pace_after(11, Steps(1, 0, 1000)), 1, 1e-9);
  EXPECT_EQ(pace_after(200, Steps(0.01, 0, 1000)), 0);
  EXPECT_NEAR(pace_after(203, Steps(0.01, 0, 1000)), 0.01, 1e-9);
}

TEST(StepPace, LeavesOutWhatIsWaited) { EXPECT_NEAR(pace_after(30, Steps(1, 0.6, 1000)), 0.4, 1e-9); }

TEST(StepPace, GoesOnOverTheEndsOfEpochs) {
  for (const int64_t per_epoch : {1, 2, 7}) EXPECT_NEAR(pace_after(50, Steps(0.3, 0.5, per_epoch)), 0.15, 1e-9);
}

TEST(StepPace, LeavesOutAFirstStepThatTakesLong) {
  sync::StepPace pace;
  TrainState state;
  for (int i = 1; i <= 20; ++i) {
    state.batch = i;
    state.epoch_seconds = 60 + i;
    pace.add(state);
  }
  EXPECT_NEAR(pace.seconds(), 1, 1e-9);
}

}  // namespace
}  // namespace thalweg::testing
