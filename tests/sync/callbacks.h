// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/patience.h"
#include "thalweg/comm.h"
#include "thalweg/train.h"

namespace thalweg::testing {

/// Leaves training with an error at some step, which to the others looks like the end of the process.
struct LeaveAt : Callback {
  explicit LeaveAt(int64_t at) : step(at) {}
  int64_t step;
  void on_step(const TrainState& state) override { TW_REQUIRE(state.progress.iteration != step, "left on purpose"); }
};

/// Remembers the losses of all steps, and lets the run take as long as others need to do their part.
struct Watch : Callback {
  std::vector<double> losses;
  std::atomic<int64_t> steps{0};
  std::chrono::milliseconds pause{0};
  /// While this group has fewer than `awaited` members the steps are slow: a little at first, then so much that the run
  /// does not end before another has come, however long a machine takes for that.
  std::weak_ptr<comm::Group> group;
  int awaited = 0;
  /// Step `hold_at` is not left before `may_go_on` says so.
  int64_t hold_at = -1;
  std::function<bool()> may_go_on;

  void on_step(const TrainState& state) override {
    const int64_t step = state.progress.iteration;
    losses.resize(static_cast<size_t>(step));
    losses.back() = state.progress.loss;
    steps = step;
    std::this_thread::sleep_for(pause);
    if (step == hold_at) {
      EXPECT_TRUE(eventually(may_go_on)) << "held at step " << step;
    }
    const std::shared_ptr<comm::Group> ours = group.lock();
    if (ours == nullptr || ours->size() >= awaited) return;
    std::this_thread::sleep_for(step < kQuickSteps ? std::chrono::milliseconds(10) : std::chrono::milliseconds(1000));
  }

 private:
  static constexpr int64_t kQuickSteps = 20;
};

/// A Watch that does so until the group has `awaited` members.
inline std::shared_ptr<Watch> watch_until(int awaited) {
  auto watch = std::make_shared<Watch>();
  watch->awaited = awaited;
  return watch;
}

/// Tells a Watch which group it is about.
inline void show_group(const std::shared_ptr<Callback>& callback, const std::shared_ptr<comm::Group>& group) {
  if (const auto watch = std::dynamic_pointer_cast<Watch>(callback)) watch->group = group;
}

}  // namespace thalweg::testing
