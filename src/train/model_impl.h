// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <shared_mutex>

#include "runtime/program_cache.h"
#include "thalweg/model.h"

namespace thalweg {

struct Model::Impl {
  Impl(std::unique_ptr<Graph> model_graph, const PredictOptions& options);

  std::shared_ptr<SessionPool> pool_for(const std::vector<Tensor>& inputs);
  /// Lets the training program choose the layouts of the weights, even if predictions were made before it: a step that
  /// had to rearrange them would pay for it every time. Needs the unique lock.
  void release_layouts();
  int set_trainable(const std::string& pattern, bool trainable);

  std::unique_ptr<Graph> graph;
  std::shared_ptr<Variables> variables;
  /// Shared while weights are read, unique while they or their layouts change.
  mutable std::shared_mutex weights_mutex;
  /// Grows when the set of trained parameters changes: programs compiled for training are then out of date.
  uint64_t trainable_version = 0;
  /// A training program depends on the layouts.
  bool layouts_are_for_training = false;
  PredictOptions predict_options;
  ProgramCache inference;
};

}  // namespace thalweg
