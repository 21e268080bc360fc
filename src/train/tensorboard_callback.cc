// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/tensorboard_callback.h"

#include <chrono>

#include "thalweg/tensorboard.h"

namespace thalweg {
namespace {

/// So that a chart of a run under way is not older than this.
constexpr auto kFlushInterval = std::chrono::seconds(5);

class TensorBoardCallback : public Callback {
 public:
  explicit TensorBoardCallback(const std::string& directory) : writer_(directory) {}

  void on_step(const TrainState& state) override {
    const int64_t step = state.progress.iteration;
    writer_.add_scalar("train/loss", state.progress.loss, step);
    writer_.add_scalar("train/learning_rate", state.learning_rate, step);
    writer_.add_scalar("train/samples_per_second", state.samples_per_second, step);
    writer_.add_scalar("train/data_wait_share", state.data_wait_share, step);
    if (std::chrono::steady_clock::now() < next_flush_) return;
    writer_.flush();
    next_flush_ = std::chrono::steady_clock::now() + kFlushInterval;
  }

  void on_validation(const TrainState& state) override {
    for (const auto& [name, value] : state.validation) {
      writer_.add_scalar("validation/" + name, value, state.progress.iteration);
    }
    writer_.flush();
  }

  void on_epoch(const TrainState& state) override {
    writer_.add_scalar("train/epoch_loss", state.epoch_loss, state.progress.iteration);
    writer_.flush();
  }

  void on_end(const TrainState& /*state*/) override { writer_.flush(); }

 private:
  EventWriter writer_;
  std::chrono::steady_clock::time_point next_flush_;
};

}  // namespace

std::shared_ptr<Callback> make_tensorboard_callback(const std::string& directory) {
  return std::make_shared<TensorBoardCallback>(directory);
}

}  // namespace thalweg
