// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <shared_mutex>

#include "formats/onnx/import_graph.h"
#include "runtime/graph_runner.h"
#include "thalweg/model.h"

namespace thalweg {

struct Model::Impl {
  Impl(std::unique_ptr<Graph> model_graph, const InferenceOptions& options);
  Impl(onnx::ImportedModel imported, const InferenceOptions& options);

  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::vector<ProgramProfile>* profile) const;
  void set_options(const InferenceOptions& given);
  Precision precision() const;
  /// Lets the training program choose the layouts of the weights, even if predictions were made before it: a step that
  /// had to rearrange them would pay for it every time. Weights that are stored elsewhere come into memory. Needs the
  /// unique lock.
  void release_layouts();
  /// The weights are about to change: those that are stored elsewhere come into memory. Needs the unique lock.
  void own_weights();
  /// Whoever trains chooses the size of batches, which exporters often fix to that of their example.
  void free_batch();
  int set_trainable(const std::string& pattern, bool trainable);
  /// For `specialize`: the content of a parameter or state. Needs the lock.
  Tensor content(const Value* weight) const { return variables->read(variables->index(weight->name())); }

  std::unique_ptr<Graph> graph;
  std::shared_ptr<Variables> variables;
  /// Shared while weights are read, unique while they or their layouts change.
  mutable std::shared_mutex weights_mutex;
  /// Grows when the set of trained parameters changes: programs compiled for training are then out of date.
  uint64_t trainable_version = 0;
  /// A training program depends on the layouts.
  bool layouts_are_for_training = false;
  InferenceOptions options;
  /// How messages begin: the file's name, or the graph's.
  std::string name;
  /// Of the file; "" and 0 if there is none.
  std::string producer;
  int64_t opset = 0;
  std::map<std::string, std::string> metadata;
  std::vector<ValueDescription> inputs, outputs;
  RunnerContext context{{}, {}, variables, weights_mutex};
  std::unique_ptr<GraphRunner> runner;

 private:
  void start(const InferenceOptions& given);
};

/// As Model::load, of a file that was imported already.
Model make_model(onnx::ImportedModel imported, const InferenceOptions& options);

}  // namespace thalweg
