// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>

#include "thalweg/train.h"

namespace thalweg {

/// Tells a person how a run goes: on a terminal one line that is rewritten in place, elsewhere (a log, a pipe) whole
/// lines now and then and nothing but text.
class ProgressPrinter : public Callback {
 public:
  ProgressPrinter(std::FILE* out, bool terminal);

  void on_step(const TrainState& state) override;
  void on_epoch(const TrainState& state) override;
  void on_checkpoint(const TrainState& state, const std::string& path) override;
  void on_end(const TrainState& state) override;
  void on_message(const std::string& text) override;

 private:
  using Clock = std::chrono::steady_clock;
  void live(const std::string& text);
  void line(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  size_t live_width_ = 0;
  Clock::time_point next_;
};

/// Null for kNone.
std::shared_ptr<Callback> make_progress_printer(ShowProgress show);

/// 3725.2 -> "1:02:05".
std::string clock_text(double seconds);
/// "epoch 2/3  step 120/938  loss 0.2310  1234 samples/s  data wait 2%  ETA 0:32".
std::string progress_text(const TrainState& state);

}  // namespace thalweg
