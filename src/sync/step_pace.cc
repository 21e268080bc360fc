// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/step_pace.h"

#include <algorithm>

namespace thalweg::sync {

void StepPace::add(const TrainState& state) {
  if (state.batch <= batch_) epoch_seconds_ = epoch_computing_ = 0;
  const double waiting = state.data_wait_share + state.exchange_wait_share;
  const double computing = state.epoch_seconds * std::max(0.0, 1 - waiting);
  if (++steps_ > 0) {
    elapsed_ += state.epoch_seconds - epoch_seconds_;
    computing_ += computing - epoch_computing_;
  }
  batch_ = state.batch;
  epoch_seconds_ = state.epoch_seconds;
  epoch_computing_ = computing;
  if (steps_ < kLeastSteps || elapsed_ < kLeastSeconds) return;
  seconds_ = computing_ / static_cast<double>(steps_);
  steps_ = 0;
  elapsed_ = computing_ = 0;
}

}  // namespace thalweg::sync
