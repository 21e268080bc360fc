// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <semaphore>
#include <thread>

#include "bench/second_process.h"
#include "thalweg/train.h"

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
  /// The fastest step of a process that trains its batch for itself, while the other does so too.
  double alone_milliseconds() const { return alone_ms_; }

  /// The second process's part, until the first ends.
  static void serve(const SecondProcess::Task& task, const nlohmann::json& spec);

 private:
  DdpRun(const SecondProcess::Task& task, const nlohmann::json& spec);
  void begin(const nlohmann::json& spec);
  void measure_alone(const nlohmann::json& spec);

  class Turn;
  std::unique_ptr<SecondProcess> second_;
  std::shared_ptr<comm::Group> group_;
  double alone_ms_ = 0;
  std::shared_ptr<Turn> turn_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Trainer> trainer_;
  std::thread thread_;
};

}  // namespace thalweg::bench
