// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/triggers.h"

namespace thalweg::optim {

/// The learning rate over a run.
class Schedule {
 public:
  virtual ~Schedule() = default;

  /// For the step that comes after progress.iteration completed ones.
  virtual double learning_rate(const Progress& progress) const = 0;
  /// To be told after every validation; only `plateau` listens.
  virtual void observe(const Progress& /*progress*/) {}

  /// What a checkpoint must keep, a fixed number of values for a given schedule.
  virtual std::vector<double> state() const { return {}; }
  /// Throws unless `state` has as many values as state() gives.
  virtual void restore(std::span<const double> state);
};

using SchedulePtr = std::shared_ptr<Schedule>;

SchedulePtr constant(double rate);
/// rate * (1 - iteration / iterations) ^ power, then 0.
SchedulePtr poly(double rate, int64_t iterations, double power);
/// Times gamma every `interval` iterations.
SchedulePtr step(double rate, int64_t interval, double gamma);
/// Times gamma at each of these iterations, which must ascend.
SchedulePtr multistep(double rate, std::vector<int64_t> milestones, double gamma);
/// Times gamma every `interval` epochs.
SchedulePtr epoch_step(double rate, int64_t interval, double gamma);
/// rate * 0.1 ^ exponent(epoch), where epoch counts from 0.
SchedulePtr epoch_decay(double rate, std::function<double(int64_t epoch)> exponent);
/// rate * decay ^ (iteration / interval), in whole intervals if `staircase`.
SchedulePtr exponential(double rate, int64_t interval, double decay, bool staircase = false);
/// rate * e ^ (-gamma * whole intervals).
SchedulePtr natural_exponential(double rate, int64_t interval, double gamma);
/// Half a cosine from `rate` down to `lowest` over `iterations`, which it then keeps.
SchedulePtr cosine(double rate, int64_t iterations, double lowest = 0.0);
/// Linear from `from` to `to` over `iterations`, then `to`. Usually the first stage of a sequence.
SchedulePtr warm_up(double from, double to, int64_t iterations);

struct OneCycleOptions {
  double warm_up_share = 0.3;  ///< of all iterations
  double initial_divisor = 25.0;
  double final_divisor = 1e4;  ///< of the initial rate
  bool linear = false;         ///< otherwise along a cosine
};
/// Up from highest / initial_divisor to `highest`, then down to next to nothing (Smith and Topin, 2017), as PyTorch's.
SchedulePtr one_cycle(double highest, int64_t iterations, const OneCycleOptions& options = {});

struct PlateauOptions {
  double factor = 0.1;
  int64_t patience = 10;  ///< validations without improvement that are put up with
  bool higher_is_better = false;
  double threshold = 1e-4;
  bool relative_threshold = true;
  int64_t cooldown = 0;  ///< validations after a reduction that do not count
  double lowest = 0.0;
};
/// Times `factor` when the score stops improving, as PyTorch's ReduceLROnPlateau.
SchedulePtr plateau(double rate, const PlateauOptions& options = {});

struct Stage {
  SchedulePtr schedule;
  /// How long it is in force; ignored for the last one.
  int64_t iterations = 0;
};
/// One schedule after the other. Each counts iterations from its own start, and epochs too if
/// Progress::iterations_per_epoch is known.
SchedulePtr sequential(std::vector<Stage> stages);

}  // namespace thalweg::optim
