// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "job/training.h"

namespace thalweg::job {

/// Roughly what training a model takes besides its rows, in bytes, without compiling it: what compiled steps use again
/// is not known then.
struct MemoryEstimate {
  /// Weights, their gradients with a copy to exchange, and the optimiser's state.
  int64_t weights = 0;
  /// For each sample of a batch: what is kept between forward and backward. 0 if the model does not fix the size of a
  /// sample.
  int64_t sample = 0;
};

/// Of parameters and states, as a file of the model holds them.
int64_t weight_bytes(const Graph& graph);

MemoryEstimate estimate_memory(const Graph& graph, const Training& training);

}  // namespace thalweg::job
