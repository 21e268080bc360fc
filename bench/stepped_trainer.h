// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "thalweg/train.h"

namespace thalweg::bench {

/// Trains a case's model on a thread of its own, one step whenever somebody asks for it.
class SteppedTrainer {
 public:
  /// `scheme` is null for a process that trains for itself.
  SteppedTrainer(const nlohmann::json& spec, const data::TensorDataset& data, std::shared_ptr<Scheme> scheme);
  /// Waits for a step in flight.
  ~SteppedTrainer();
  SteppedTrainer(const SteppedTrainer&) = delete;
  SteppedTrainer& operator=(const SteppedTrainer&) = delete;

  /// The loss before the update.
  double step();

 private:
  class Turn;
  std::shared_ptr<Turn> turn_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Trainer> trainer_;
  std::thread thread_;
};

}  // namespace thalweg::bench
