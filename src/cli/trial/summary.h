// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/trial/scheme_run.h"

namespace thalweg::cli {

/// The group of a scheme at one time.
struct TrialPoint {
  /// Since the first worker began to train.
  double seconds = 0;
  /// Of all workers together.
  double samples = 0, sent_bytes = 0;
  /// Mean over the workers of what they have computed lately.
  double loss = 0;
};

/// What losing a worker on the way has cost.
struct KillCost {
  /// Work that was missing at the end, in seconds at the pace before; below 0 if the others were quicker without it.
  double seconds = 0;
  /// The longest time in which the others made no step.
  double pause = 0;
  /// Until the worker that was started in its place made steps; none if it did not.
  std::optional<double> back_after;
};

struct SchemeSummary {
  std::string scheme;
  /// Why it was not run; empty if it was.
  std::string skipped;
  /// Why it did not come to its end; empty if it did.
  std::string failure;
  bool ran() const { return skipped.empty() && failure.empty() && !points.empty(); }

  std::vector<TrialPoint> points;
  double seconds = 0, samples = 0, samples_per_second = 0, sent_bytes = 0, loss = 0;
  int64_t steps = 0;
  /// Shares of the workers' time. What even the worker that waits least spends in exchanges is exchanging; what the
  /// others spend there beyond that is waiting for each other.
  double computing = 0, waiting_for_data = 0, waiting = 0, exchanging = 0;
  std::map<std::string, double> scores;
  /// What the scheme "auto" has become (WorkerTrace); null for others.
  Json chosen;
  std::optional<KillCost> kill;
  /// None if it was never reached.
  std::optional<double> seconds_to_target;
};

/// `seconds`: how long it might have trained, by which losses are smoothed.
SchemeSummary summarise(const SchemeTraces& traces, double seconds);
bool has_reached(const SchemeTraces& traces, double target, double seconds);
/// The first time at which the loss is no higher.
std::optional<double> seconds_to(const SchemeSummary& summary, double loss);
/// What half of the schemes that were run have come to.
std::optional<double> median_loss(const std::vector<SchemeSummary>& summaries);

Json to_json(const SchemeSummary& summary);

}  // namespace thalweg::cli
