// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/trial/trace.h"
#include "cli/worker_process.h"

namespace thalweg::cli {

/// How all schemes of a trial are run.
struct TrialPlan {
  std::string job;
  /// "section.key=value" in place of what the job says.
  std::vector<std::string> overrides;
  int workers = 4;
  /// For which each scheme trains, at most.
  double seconds = 10;
  /// At which a scheme is done.
  std::optional<double> target_loss;
  /// One worker is killed on the way.
  bool kill = false;
  /// By worker: how many times as long as it needs it takes.
  std::map<int, double> slowness;
  /// By worker, files that stand for its network, and where those in the middle are found; empty: none were made.
  std::vector<std::string> networks;
  std::string address;
  int64_t score_samples = 10'000;
  /// For workers to come together and begin.
  double start_seconds = 120;
};

/// What came of one scheme.
struct SchemeTraces {
  std::string scheme;
  /// Why it did not come to its end; empty if it did.
  std::string failure;
  /// It failed before anybody began to train: it does not fit the job.
  bool refused = false;
  std::vector<WorkerTrace> workers;
  /// By the clock of the traces; none if nobody was killed.
  std::optional<double> killed_at;
  int killed_worker = -1;
  /// When all were told to stop.
  double stopped_at = 0;
};

/// The program was told to end.
class TrialInterrupted : public Error {
 public:
  using Error::Error;
};

/// Trains the job with one scheme, by `thalweg launch` and workers that are processes of their own, as whoever has the
/// job would. All of them are gone when it is.
class SchemeRun {
 public:
  SchemeRun(const TrialPlan& plan, std::string scheme, std::filesystem::path folder);

  /// Throws TrialInterrupted; whatever else goes wrong is in what it gives. `watch` is called several times a second.
  SchemeTraces run(const std::function<void(const SchemeTraces&)>& watch);

 private:
  void start();
  /// True when it has come to its end, or to an end.
  bool look();
  void kill_one();
  void tell_to_stop();
  void read_output(bool rest);
  /// Asks the launcher to end, and makes it. Its keeper ends what is left of its workers.
  void end_launcher();
  void after_end(int status);
  /// Of what was printed, the line that says most.
  std::string last_words() const;
  void fail(const std::string& what);

  const TrialPlan& plan_;
  std::filesystem::path folder_;
  TraceReader reader_;
  std::unique_ptr<WorkerProcess> launcher_;
  SchemeTraces traces_;
  double started_at_ = 0;
  /// When the first of the workers began to train.
  std::optional<double> trains_since_;
  std::deque<std::string> lines_;
};

}  // namespace thalweg::cli
