// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/kernel_trial.h"
#include "runtime/program.h"
#include "runtime/race.h"

namespace thalweg {

class Tuner;

/// Measures what a program was compiled without knowing (Program::unmeasured), a little after each run: for a part of
/// the time that the runs took. So the first answer is there at once, and programs that run often get the fastest
/// kernels. Thread-safe.
class LaterTuning {
 public:
  LaterTuning(std::shared_ptr<const Program> program, Tuner& tuner);

  /// After a run that took `seconds`, with memory that may be used meanwhile. True once, when all is known that
  /// matters, and the program would be another one if it were compiled anew. Returns at once while another thread
  /// measures. Reads weights.
  bool after_run(double seconds, std::span<std::byte> memory);
  /// Nothing is left to be measured.
  bool settled() const;

 private:
  void spend();
  void measure();
  void begin_race(const KernelRequest& request);
  void end_race(const std::string& winner);
  bool matters(const KernelRequest& request) const;

  const std::shared_ptr<const Program> program_;
  Tuner& tuner_;
  mutable std::mutex mutex_;
  /// The largest ones last.
  std::vector<const KernelRequest*> open_;
  std::optional<Race> race_;
  std::string by_rule_;
  TrialMemory memory_;
  int runs_ = 0;
  double run_seconds_ = 0;
  /// Seconds that may be spent.
  double credit_ = 0;
  bool changed_ = false;
  bool settled_ = false;
};

}  // namespace thalweg
