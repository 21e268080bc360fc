// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "support/child_process.h"
#include "support/temporary_directory.h"
#include "sync/workers.h"

namespace thalweg::testing {

/// Workers that are real processes (FaultWorker.DISABLED_Train), a rendezvous in this one, and what an undisturbed run
/// ends with.
class FaultTest : public ::testing::Test {
 protected:
  struct Job {
    int workers = 3;
    int64_t steps = 60;
    int pause_ms = 20;
    comm::Path path = comm::Path::kAuto;
    /// At this step a worker's connections to its peers break; 0: never.
    int64_t reset_at = 0;
    std::string scheme = "allreduce";
    int copies = 1;
  };

  static TrainOptions train_options(int64_t steps) {
    TrainOptions options = group_train_options();
    options.end = optim::max_iteration(steps);
    options.learning_rate = 0.003;
    return options;
  }
  static data::TensorDataset data() { return two_layers_data(500); }

  void begin(const Job& job) {
    job_ = job;
    rendezvous_ = std::make_unique<comm::Rendezvous>(rendezvous_options());
    for (int i = 0; i < job.workers; ++i) add_worker(job.reset_at);
  }
  comm::RendezvousOptions rendezvous_options() const {
    comm::RendezvousOptions options = quiet_rendezvous(1, job_.workers);
    options.settle = std::chrono::seconds(2);
    return options;
  }
  void add_worker(int64_t reset_at = 0) {
    workers_.emplace_back(
        "FaultWorker.DISABLED_Train",
        std::map<std::string, std::string>{{"THALWEG_TEST_RENDEZVOUS", rendezvous_->address()},
                                           {"THALWEG_TEST_FOLDER", folder_.path().string()},
                                           {"THALWEG_TEST_STEPS", std::to_string(job_.steps)},
                                           {"THALWEG_TEST_PAUSE", std::to_string(job_.pause_ms)},
                                           {"THALWEG_TEST_TCP", job_.path == comm::Path::kTcp ? "1" : ""},
                                           {"THALWEG_TEST_SCHEME", job_.scheme},
                                           {"THALWEG_TEST_COPIES", std::to_string(job_.copies)},
                                           {"THALWEG_TEST_RESET", std::to_string(workers_.empty() ? reset_at : 0)}});
    ASSERT_TRUE(workers_.back().started());
  }
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
  void wait_for_step(int64_t wanted) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (step() < wanted && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_GE(step(), wanted) << "training does not go on";
  }
  /// Ends a worker, any of them, the hard way; returns how long the others took to go on.
  double kill_one() {
    const uint64_t epoch = rendezvous_->state().epoch;
    const size_t victim = random_() % workers_.size();
    workers_[victim].kill();
    workers_.erase(workers_.begin() + static_cast<int64_t>(victim));
    return seconds_until_epoch(epoch + 1);
  }
  void wait_for_size(int wanted) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (rendezvous_->state().size < wanted && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_EQ(rendezvous_->state().size, wanted) << "a worker is not admitted";
  }
  /// Until the group has a new epoch, and how long that took.
  double seconds_until_epoch(uint64_t wanted) const {
    const auto begin = std::chrono::steady_clock::now();
    while (rendezvous_->state().epoch < wanted && std::chrono::steady_clock::now() < begin + std::chrono::seconds(60)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void expect_undisturbed_result() {
    for (ChildProcess& worker : workers_) {
      int status = 0;
      ASSERT_TRUE(worker.wait_for(std::chrono::seconds(120), status)) << "a worker does not end";
      EXPECT_EQ(status, 0);
    }
    Model model(two_layers());
    TrainOptions alone = train_options(job_.steps);
    Trainer trainer(model, squared_error(), optim::adam(), alone);
    trainer.fit(data());
    int results = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().extension() != ".safetensors") continue;
      const SafetensorsFile file(entry.path().string());
      for (const NamedTensor& expected : weights_of(model)) {
        if (expected.name == "seen") continue;
        EXPECT_LT(difference({expected}, {{expected.name, file.load(expected.name)}}), 1e-6) << expected.name;
      }
      ++results;
    }
    EXPECT_EQ(results, static_cast<int>(workers_.size()));
  }

  Job job_;
  TemporaryDirectory folder_;
  std::unique_ptr<comm::Rendezvous> rendezvous_;
  std::vector<ChildProcess> workers_;
  std::mt19937 random_{12};
};

}  // namespace thalweg::testing
