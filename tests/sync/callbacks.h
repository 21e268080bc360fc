// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "thalweg/train.h"

namespace thalweg::testing {

/// Leaves training with an error at some step, which to the others looks like the end of the process.
struct LeaveAt : Callback {
  explicit LeaveAt(int64_t at) : step(at) {}
  int64_t step;
  void on_step(const TrainState& state) override { TW_REQUIRE(state.progress.iteration != step, "left on purpose"); }
};

/// Remembers the losses of all steps, and slows them down.
struct Watch : Callback {
  std::vector<double> losses;
  std::atomic<int64_t> steps{0};
  std::chrono::milliseconds pause{0};
  void on_step(const TrainState& state) override {
    losses.resize(static_cast<size_t>(state.progress.iteration));
    losses.back() = state.progress.loss;
    steps = state.progress.iteration;
    std::this_thread::sleep_for(pause);
  }
};

}  // namespace thalweg::testing
