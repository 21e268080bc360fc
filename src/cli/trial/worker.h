// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/train_job.h"
#include "cli/trial/trace.h"

namespace thalweg::cli {

/// What `thalweg trial` tells the workers that it has started, by a file in the folder of their traces.
struct TrialOrders {
  /// By worker: how many times as long as it needs it shall take.
  std::map<int, double> slowness;
  /// By worker, files that stand for its network; empty: that of the trial.
  std::vector<std::string> networks;
  /// On which the result is scored, at most.
  int64_t score_samples = 10'000;
};
void write_orders(const TrialOrders& orders, const std::filesystem::path& folder);

/// A worker of a trial (`thalweg train --trial FOLDER`): it trains until it is told to stop, however many epochs the
/// job has, and leaves behind nothing but its trace.
class TrialWorker {
 public:
  void add_options(CLI::App& options);
  bool is_one() const { return !folder_.empty(); }
  /// Before anything else: into the network that was made for it.
  void begin();
  void change(TrainOptions& options, const std::shared_ptr<comm::Group>& group);
  void train(Trainer& trainer, const TrainJob& job);

 private:
  static data::DatasetPtr samples_to_score(const TrainJob& job, int64_t most);

  std::string folder_;
  int worker_ = 0;
  TrialOrders orders_;
  std::shared_ptr<comm::Group> group_;
  std::shared_ptr<TraceWriter> trace_;
};

/// What a trial replaces in a job: nothing is kept of any of its runs.
std::vector<std::string> trial_overrides();

}  // namespace thalweg::cli
