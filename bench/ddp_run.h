// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/second_process.h"
#include "bench/stepped_trainer.h"

namespace thalweg::bench {

/// Training of one model by this process and a second one that it starts, each with one thread and a batch of its own
/// ("ddp_resnet50_b8_x2").
class DdpRun {
 public:
  DdpRun(const std::string& name, const nlohmann::json& spec);
  ~DdpRun();
  DdpRun(const DdpRun&) = delete;
  DdpRun& operator=(const DdpRun&) = delete;

  /// Tells the other process how many steps follow: it must not compute ahead of the time that is taken.
  void announce(int steps);
  /// Both processes: the loss, the mean over both batches, before the update.
  double step();
  /// In turns, `count` times: a step as above, and one in which each process trains its batch for itself, both at the
  /// same time. Each begins when both processes are ready and ends when both have done it.
  struct Pairs {
    std::vector<double> together_ms, alone_ms;
  };
  Pairs run_pairs(int count);

  /// The second process's part, until the first ends.
  static void serve(const SecondProcess::Task& task, const nlohmann::json& spec);

 private:
  DdpRun(const SecondProcess::Task& task, const nlohmann::json& spec);
  void begin();
  Pairs serve_pairs(int count);
  double timed(SteppedTrainer& trainer);

  nlohmann::json spec_;
  // The second process ends first: then a step in flight fails instead of waiting for it.
  std::unique_ptr<SteppedTrainer> alone_;
  std::unique_ptr<SteppedTrainer> together_;
  std::unique_ptr<SecondProcess> second_;
  std::shared_ptr<comm::Group> group_;
};

}  // namespace thalweg::bench
