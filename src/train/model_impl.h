// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <shared_mutex>

#include "runtime/graph_runner.h"
#include "thalweg/model.h"

namespace thalweg {

struct Model::Impl {
  Impl(std::unique_ptr<Graph> model_graph, const PredictOptions& options);

  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::vector<ProgramProfile>* profile);
  void set_options(const PredictOptions& options);
  /// For Specializer: the content of a parameter or state. Needs the lock.
  Tensor content(const Value* weight) const { return variables->read(variables->index(weight->name())); }
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
  RunnerContext context{{}, {}, variables, weights_mutex};
  std::unique_ptr<GraphRunner> runner;
};

}  // namespace thalweg
