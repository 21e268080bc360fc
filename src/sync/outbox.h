// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "sync/compress/factors.h"
#include "sync/gradient_buckets.h"

namespace thalweg::sync {

/// Gradients of one worker that the servers have not got yet, of one step or several.
struct Outbox {
  /// Of all dense parameters, in the order of the buckets.
  std::vector<float> dense;
  std::vector<SparseRows> sparse;
  /// By variable, of gradients that nobody has computed yet; `dense` has nothing of these.
  std::map<size_t, Factors> factors;
  /// The sum of the steps' shares of their batches, and of these times the learning rates.
  double weight = 0;
  double weighted_rate = 0;
  /// Of the last step.
  double rate = 0;
  bool filled = false;
  /// The loss of a step was not finite; its gradients are not here.
  bool bad = false;

  void add(GradientBuckets& gradients, const std::map<size_t, Factors>& more, double step_weight, double learning_rate);
  /// Nothing in it; the memory stays.
  void clear();
};

}  // namespace thalweg::sync
