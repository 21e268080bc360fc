// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sync/choose/link_probe.h"
#include "sync/part_options.h"
#include "train/scheme.h"

namespace thalweg::sync {

/// A form in which the gradients of a model could travel.
struct FormCost {
  std::string compression;
  PartOptions options;
  /// What a worker's gradients take in it.
  double bytes = 0;
  /// For a worker to make such a code and to read one, at every step.
  double seconds = 0;
};

/// What the choice of a scheme rests on.
struct Measurements {
  /// By worker and step: how long it took by itself, data and callbacks included, exchanges not.
  std::vector<std::vector<double>> step_seconds;
  LinkSpeed link;
  /// Of one worker's gradients as they are, in the largest of the steps.
  double gradient_bytes = 0;
  double weight_bytes = 0;
  std::vector<FormCost> forms;
  /// Parts of parameters can be updated by themselves, as servers do.
  bool elementwise = true;
};

/// Takes the times of a worker's steps, and counts its gradients.
class StepClock {
 public:
  void add_gradient(const GradientView& gradient, int64_t row_size);
  /// When the worker begins to exchange: its step is over.
  void stop();
  /// When the exchange is over: its next step begins. What comes before the first does not count: much of it happens
  /// only once.
  void start();
  const std::vector<double>& seconds() const { return seconds_; }
  double total() const { return total_; }
  double gradient_bytes() const { return most_bytes_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_;
  bool runs_ = false;
  std::vector<double> seconds_;
  double total_ = 0, bytes_ = 0, most_bytes_ = 0;
};

/// Those that a choice considers, on this machine's processors, with their sizes for these parameters.
std::vector<FormCost> measure_forms(Trainee& trainee);

}  // namespace thalweg::sync
