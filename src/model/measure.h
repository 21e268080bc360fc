// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "thalweg/model.h"

namespace thalweg {

struct MeasureOptions {
  /// Threads that call the model at the same time.
  int streams = 1;
  double seconds = 3;
  /// Each stream makes at least so many runs, however long they take.
  int min_runs = 3;
  /// Called now and then by one thread with the seconds that went by.
  std::function<void(double seconds)> progress = nullptr;
};

/// Of one run, in milliseconds.
struct Latency {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, min = 0, max = 0;
};

struct Measurement {
  int64_t runs = 0;
  double seconds = 0;
  /// Compiling, and the first run of every stream, neither of which counts otherwise.
  double first_run_milliseconds = 0;
  Latency latency;
  double runs_per_second() const { return static_cast<double>(runs) / seconds; }
};

/// Runs a model again and again with the same inputs, from several threads if asked to.
Measurement measure(const Model& model, const std::vector<Tensor>& inputs, const MeasureOptions& options);

/// Of at least one number, in any order.
Latency latency_of(std::vector<double> milliseconds);

}  // namespace thalweg
