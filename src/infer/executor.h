// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "infer/tracer.h"
#include "runtime/program_cache.h"
#include "thalweg/inference.h"

namespace thalweg {

/// What all graphs of one model share.
struct ExecutionContext {
  std::shared_ptr<const onnx::ModelFile> model;
  InferenceOptions options;
  Precision precision = Precision::kF32;
  std::shared_ptr<Variables> variables;
  /// Shared while weights are read, unique while a program is compiled, which may rearrange them.
  std::shared_mutex weights_mutex;
};

/// Runs one ONNX graph, the model's own or one inside a node: as one compiled program where the shapes of the inputs
/// decide everything, otherwise as several, with single nodes executed in between. What was compiled is kept.
class Executor {
 public:
  Executor(ExecutionContext& context, const onnx::GraphProto& graph);
  ~Executor();

  const GraphPlan& plan() const { return plan_; }
  /// `inputs` in the order of the plan; `outer` must hold what the graph captures. `profile` (or null) receives
  /// what was executed, in order, and how long each step took.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const Environment& outer,
                          std::vector<ProgramProfile>* profile);

 private:
  struct Stage;
  struct StageCache;

  std::shared_ptr<Stage> stage_for(StageCache& cache, const Environment& environment, const std::vector<bool>& done);
  std::shared_ptr<Stage> compile(const Environment& environment, const std::vector<bool>& done);
  void run_program(const Stage& stage, Environment& environment, std::vector<ProgramProfile>* profile);
  void run_host_node(size_t index, Environment& environment, std::vector<ProgramProfile>* profile);
  Tensor find(const std::string& name, const Environment& environment);
  Executor& body_executor(const onnx::GraphProto& body);

  ExecutionContext& context_;
  GraphPlan plan_;
  std::unique_ptr<StageCache> root_;
  std::mutex mutex_;  // guards the two maps
  std::map<const onnx::GraphProto*, std::unique_ptr<Executor>> bodies_;
  std::map<std::string, Tensor> initializers_;
};

}  // namespace thalweg
