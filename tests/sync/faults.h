// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <random>

#include "support/child_process.h"
#include "support/patience.h"
#include "support/temporary_directory.h"
#include "sync/workers.h"

namespace thalweg::testing {

using FaultClock = std::chrono::steady_clock;

/// What the workers of a FaultRun do.
struct FaultJob {
  int workers = 3;
  int64_t steps = 60;
  /// After every step, and in place of it while somebody is missing.
  int pause_ms = 20;
  int short_handed_pause_ms = 20;
  comm::Path path = comm::Path::kAuto;
  /// From this step on the first worker waits for an exchange under way, and resets its connection; 0: never.
  int64_t reset_at = 0;
  std::string scheme = "allreduce";
  std::string compression = "none";
  int copies = 1;
  /// Of the scheme, besides `copies`.
  std::map<std::string, double> scheme_options = {};
  /// The size of the model: 60 bytes of gradients for each.
  int64_t hidden = 40;
  /// Steps between two checkpoints, from the newest of which workers start; 0: none.
  int64_t checkpoints = 0;
  /// How long a worker may be silent before it counts as lost, for tests of just that.
  std::chrono::milliseconds silence = patience();

  /// If set, sgd with this momentum and the rate, in place of what suits the size of the model.
  std::optional<double> momentum = std::nullopt;
  double rate = 0.05;

  optim::Optimizer optimizer() const {
    if (momentum) return optim::sgd({.momentum = *momentum});
    return hidden > 40 ? optim::sgd({.momentum = 0.9}) : smooth_adam();
  }
  TrainOptions train_options() const {
    TrainOptions options = group_train_options();
    options.end = optim::max_iteration(steps);
    options.learning_rate = momentum ? rate : 0.12 / static_cast<double>(hidden);
    return options;
  }
  static data::TensorDataset data() { return two_layers_data(500); }
};

/// Workers that are real processes (FaultWorker.DISABLED_Train), a rendezvous in this one, and what an undisturbed run
/// ends with.
class FaultRun {
 public:
  explicit FaultRun(FaultJob job) : job_(std::move(job)) {}

  /// Called with every line that the rendezvous logs, on its thread, before the members learn of what it is about.
  std::function<void(const std::string&)> on_log;

  void begin() {
    rendezvous_ = std::make_unique<comm::Rendezvous>(rendezvous_options());
    let_run_to(job_.steps / 2);
    for (int i = 0; i < job_.workers; ++i) add_worker(i == 0 ? job_.reset_at : 0);
  }
  /// From this step on workers take a second for each, until they are told of a later one: so a run does not end before
  /// a test has done to it what it wants, however slow the machine.
  void let_run_to(int64_t step) const {
    const std::filesystem::path file = folder_.path() / "quick-steps", next = file.string() + ".new";
    std::ofstream(next) << step;
    std::filesystem::rename(next, file);
  }
  /// The next one is at the same address, for at most so many workers.
  void restart_rendezvous(const std::function<void()>& meanwhile, int workers) {
    comm::RendezvousOptions options = rendezvous_options();
    options.address = rendezvous_->address();
    options.max_size = workers;
    rendezvous_.reset();
    meanwhile();
    rendezvous_ = std::make_unique<comm::Rendezvous>(options);
  }
  void add_worker(int64_t reset_at = 0) {
    workers_.emplace_back("FaultWorker.DISABLED_Train",
                          std::map<std::string, std::string>{
                              {"THALWEG_TEST_RENDEZVOUS", rendezvous_->address()},
                              {"THALWEG_TEST_FOLDER", folder_.path().string()},
                              {"THALWEG_TEST_STEPS", std::to_string(job_.steps)},
                              {"THALWEG_TEST_PAUSE", std::to_string(job_.pause_ms)},
                              {"THALWEG_TEST_WORKERS", std::to_string(job_.workers)},
                              {"THALWEG_TEST_SHORT_HANDED", std::to_string(job_.short_handed_pause_ms)},
                              {"THALWEG_TEST_TCP", job_.path == comm::Path::kTcp ? "1" : "0"},
                              {"THALWEG_TEST_SCHEME", job_.scheme},
                              {"THALWEG_TEST_COMPRESSION", job_.compression},
                              {"THALWEG_TEST_COPIES", std::to_string(job_.copies)},
                              {"THALWEG_TEST_OPTIONS", text_of(job_.scheme_options)},
                              {"THALWEG_TEST_MOMENTUM", job_.momentum ? std::to_string(*job_.momentum) : ""},
                              {"THALWEG_TEST_RATE", std::to_string(job_.rate)},
                              {"THALWEG_TEST_HIDDEN", std::to_string(job_.hidden)},
                              {"THALWEG_TEST_CHECKPOINTS", std::to_string(job_.checkpoints)},
                              {"THALWEG_TEST_RESET", std::to_string(reset_at)}});
    TW_REQUIRE(workers_.back().started(), "a worker cannot be started");
  }

  std::vector<ChildProcess>& workers() { return workers_; }
  uint64_t epoch() const { return rendezvous_->state().epoch; }
  const TemporaryDirectory& folder() const { return folder_; }

  /// The furthest step that a worker has reported.
  int64_t step() const {
    int64_t furthest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().extension() != ".step") continue;
      int64_t at = 0;
      std::ifstream(entry.path()) >> at;
      furthest = std::max(furthest, at);
    }
    return furthest;
  }
  // Waits that are in vain throw, and so end the test.
  void wait_for_step(int64_t wanted) const {
    TW_REQUIRE(eventually([&] { return step() >= wanted; }), "training does not go on after step ", step());
  }
  void wait_for_size(int wanted) const {
    TW_REQUIRE(eventually([&] { return rendezvous_->state().size == wanted; }), "a worker is not admitted");
  }
  void wait_for_epoch(uint64_t wanted) const {
    TW_REQUIRE(eventually([&] { return epoch() >= wanted; }), "the group does not form again");
  }
  /// Until a step is finished for which somebody who is lost by now cannot have done anything. He may have had his part
  /// in the step after the furthest one reported, not in the one after that.
  void wait_for_recovery() const { wait_for_step(step() + 2); }

  /// Whether the rendezvous has said so, at or after `since`, in at least so many lines.
  bool logged(const std::string& text, FaultClock::time_point since = {}, int64_t lines = 1) const {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    return lines <= std::count_if(log_.begin(), log_.end(), [&](const auto& entry) {
             return entry.first >= since && entry.second.find(text) != std::string::npos;
           });
  }
  /// Until so many workers have come back, at or after `since`, to a rendezvous that was started again.
  void wait_for_return(FaultClock::time_point since, int64_t workers) const {
    TW_REQUIRE(eventually([&] { return logged("is back", since, workers); }), "workers do not come back");
  }
  /// Until the rendezvous has noticed, at or after `since`, that somebody is lost.
  void wait_for_notice(FaultClock::time_point since) const {
    TW_REQUIRE(eventually([&] { return logged("is lost", since); }), "a loss is not noticed");
  }

  /// The parameters of each worker, when all have come to the end.
  std::vector<std::vector<NamedTensor>> results() {
    let_run_to(job_.steps);
    for (ChildProcess& worker : workers_) EXPECT_EQ(worker.wait(), 0);
    const std::vector<NamedTensor> names = parameters_of(Model(two_layers(job_.hidden)));
    std::vector<std::vector<NamedTensor>> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().extension() != ".safetensors") continue;
      const SafetensorsFile file(entry.path().string());
      all.emplace_back();
      for (const NamedTensor& one : names) all.back().push_back({one.name, file.load(one.name)});
    }
    EXPECT_EQ(all.size(), workers_.size());
    return all;
  }

  void expect_undisturbed_result() {
    const auto all = results();
    Model model(two_layers(job_.hidden));
    Trainer trainer(model, squared_error(), job_.optimizer(), job_.train_options());
    trainer.fit(FaultJob::data());
    // A step left out, or made twice, would make a difference of some thousandths.
    for (const auto& weights : all) EXPECT_LT(difference(parameters_of(model), weights), 1e-5);
  }

 private:
  /// "period=2 beta=0.9".
  static std::string text_of(const std::map<std::string, double>& options) {
    std::string text;
    for (const auto& [name, value] : options) text += name + "=" + std::to_string(value) + " ";
    return text;
  }

  comm::RendezvousOptions rendezvous_options() {
    comm::RendezvousOptions options = quiet_rendezvous(1, job_.workers);
    options.silence = job_.silence;
    options.log = [this](const std::string& line) {
      {
        const std::lock_guard<std::mutex> lock(log_mutex_);
        log_.emplace_back(FaultClock::now(), line);
      }
      if (on_log) on_log(line);
    };
    return options;
  }

  const FaultJob job_;
  const TemporaryDirectory folder_;
  mutable std::mutex log_mutex_;
  std::vector<std::pair<FaultClock::time_point, std::string>> log_;
  std::vector<ChildProcess> workers_;
  /// Ends first: it logs, and what is done about it may concern workers.
  std::unique_ptr<comm::Rendezvous> rendezvous_;
};

}  // namespace thalweg::testing
