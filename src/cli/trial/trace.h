// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/comm.h"
#include "thalweg/train.h"

namespace thalweg::cli {

/// How far a worker of a trial is. Everything but time, step and loss is counted from where its process began to train.
struct TraceRecord {
  /// Seconds of a clock that all processes of this machine share.
  double time = 0;
  int64_t step = 0;
  /// Mean over the steps since the last record.
  double loss = 0;
  double samples = 0;
  double sent_bytes = 0;
  /// Seconds in which it waited for data, and in which it was busy with exchanges or waited for others.
  double data_wait = 0;
  double exchange = 0;
};

/// What a process has told; a worker that was lost and started again is two.
struct WorkerTrace {
  int worker = 0;
  pid_t pid = 0;
  std::vector<TraceRecord> records;
  /// At the end, of the worker that leads.
  std::map<std::string, double> scores = {};
  /// As `thalweg train --json` tells what the scheme "auto" has become, as text; empty for others.
  std::string chosen = {};
};

/// In seconds, the time of records.
double trace_clock();

/// Of a process that trains: writes records to a file of its own in a folder, and ends the run when the file `stop`
/// appears there.
class TraceWriter : public Callback {
 public:
  struct Options {
    std::filesystem::path folder;
    int worker = 0;
    /// How many times as long as it needs a step shall take.
    double slowness = 1;
    /// Of all workers.
    int64_t batch_size = 1;
  };
  TraceWriter(Options options, std::shared_ptr<comm::Group> group);

  /// Before training.
  std::function<void()> stop = [] {};

  void on_start(const TrainState& state) override;
  void on_wait() override;
  void on_step(const TrainState& state) override;
  void on_measured_step(const TrainState& state) override;
  void on_end(const TrainState& state) override;
  /// `chosen` as in WorkerTrace.
  void write_result(const Scores& scores, const std::string& chosen);

 private:
  void count(const TrainState& state);
  void count_bytes();
  void look_for_stop(double now);
  /// Takes longer, as a slower machine would.
  void dawdle(double computed);
  void write(double now);

  Options options_;
  std::ofstream file_;
  std::shared_ptr<comm::Group> group_;
  TraceRecord now_;
  /// Of the epoch of the data that is under way, up to the last step.
  int64_t epoch_ = -1;
  double epoch_samples_ = 0, epoch_data_wait_ = 0, epoch_exchange_ = 0;
  /// Since the last record.
  double losses_ = 0;
  int64_t steps_ = 0;
  double written_at_ = 0, looked_at_ = 0, step_began_ = 0;
  /// Waited for in steps that only measure, in the epoch of the data that is under way.
  double measured_wait_ = 0;
  /// Of the group's epoch under way, and of those before.
  uint64_t group_epoch_ = 0;
  double sent_in_epoch_ = 0, sent_before_ = 0;
};

/// The traces in a folder as they grow.
class TraceReader {
 public:
  explicit TraceReader(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Takes what was written since.
  void read();
  /// In the order in which the processes began.
  const std::vector<WorkerTrace>& traces() const { return traces_; }

 private:
  std::filesystem::path folder_;
  std::vector<WorkerTrace> traces_;
  /// By file, what was read of it.
  std::map<std::string, std::pair<size_t, std::streamoff>> files_;
};

}  // namespace thalweg::cli
