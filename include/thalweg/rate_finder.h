// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/train.h"

namespace thalweg {

struct RateFinderOptions {
  double lowest = 1e-6;
  double highest = 1.0;
  /// Over which the rate grows from one to the other, by the same factor each.
  int64_t steps = 100;
  /// The test ends early when the smoothed loss is this many times the lowest so far.
  double give_up = 3.0;
  /// Share of the past in the smoothed loss.
  double smoothing = 0.9;
};

/// What the loss did as the learning rate grew (Smith, "Cyclical learning rates", 2017).
struct RateCurve {
  std::vector<double> rates;
  /// Smoothed.
  std::vector<double> losses;
  /// Where the loss falls fastest: a good rate to begin with.
  double suggestion = 0;
};

/// Trains for a while with a learning rate that grows with every step, then gives the model its weights back. Of
/// `options` only what concerns single steps matters; it says nothing while it works.
RateCurve find_learning_rate(Model& model, const Loss& loss, optim::Optimizer optimizer, const data::Dataset& train,
                             const TrainOptions& options = {}, const RateFinderOptions& finder = {});

}  // namespace thalweg
