// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>

#include "runtime/program.h"
#include "thalweg/data.h"
#include "thalweg/model.h"
#include "thalweg/optim.h"
#include "thalweg/train.h"
#include "train/gradient_sums.h"
#include "train/scheme.h"

namespace thalweg {

struct StepOptions {
  Precision precision = Precision::kF32;
  Math math = Math::kFast;
  Tuning tuning = Tuning::kFixed;
  int threads = 0;
  /// Limit of the norm over all gradients; 0 for none.
  double clip_norm = 0;
  /// Batches whose gradients are averaged, weighted by their sizes, before the weights change.
  int accumulate = 1;
  /// Random ops draw another sequence for another seed.
  uint64_t seed = 0;
  /// Times every node, for explain().
  bool profile = false;
  /// Not owned; null: this worker trains alone.
  Scheme* scheme = nullptr;
};

/// What a step is to do besides its batch.
struct StepInput {
  double learning_rate = 0;
  /// Of the batch that this worker's is a share of; 0: it is the whole.
  int64_t whole_samples = 0;
  /// This worker wants the run to end.
  bool stop = false;
};

struct StepResult {
  /// Of all workers.
  double loss = 0;
  int64_t samples = 0;
  /// Somebody wants the run to end.
  bool stop = false;
  /// In which this worker did nothing but exchange, or wait for others to.
  double exchange_seconds = 0;
  std::vector<Tensor> outputs;
  /// False for a batch whose gradients were only accumulated.
  bool updated = false;
  /// In a group: all others have taken part in the step too.
  bool in_lockstep = false;
};

/// Thrown before any weight or state has changed.
class NonFiniteLoss : public Error {
 public:
  explicit NonFiniteLoss(const std::string& text, bool of_all = false) : Error(text), of_all_(of_all) {}
  /// It is the loss of the whole group: every worker throws this at the same batch.
  bool of_all() const { return of_all_; }

 private:
  bool of_all_;
};

/// Runs forward, backward and update on batches of any shapes: each combination of shapes is compiled once, and all
/// programs work on the model's one set of weights. A parameter is updated as soon as its gradient is final, while it
/// is still in the cache, unless all gradients are needed first.
class TrainingStep {
 public:
  TrainingStep(Model& model, Loss loss, optim::Optimizer& optimizer, const StepOptions& options);
  ~TrainingStep();

  StepResult run(const data::Batch& batch, const StepInput& input);
  StepResult run(const data::Batch& batch, double learning_rate) { return run(batch, StepInput{learning_rate}); }
  /// Applies what fewer than `accumulate` batches left; false if there was nothing.
  bool flush(double learning_rate);
  /// Forgets it instead.
  void discard() { sums_.clear(); }

  /// Compiles for the shapes of this batch without running, so that the optimiser knows all its parameters.
  void prepare(const data::Batch& batch);

  /// Runs so far; random ops depend on it. Set when a run is resumed.
  uint64_t runs() const { return runs_; }
  void set_runs(uint64_t runs) { runs_ = runs; }
  /// What is trained, in the order in which gradients become final; known once something was compiled.
  const std::vector<TrainedVariable>& trained() const { return trained_; }
  /// The optimiser's number of a variable that is trained.
  size_t optimizer_index(size_t variable) const { return static_cast<size_t>(optimizer_index_[variable]); }
  /// Programs in use, for tests.
  size_t num_programs() const { return compiled_.size(); }
  std::string explain() const;

 private:
  struct Compiled;
  /// What one run has come to.
  struct Run {
    Compiled& compiled;
    double weight = 1;
    /// The gradients so far, if all are needed before the first is applied.
    std::vector<GradientView> kept;
    bool loss_checked = false;
  };

  StepResult run_alone(const data::Batch& batch, const StepInput& input);
  // training_step_group.cc
  StepResult run_in_group(const data::Batch& batch, const StepInput& input);
  /// The factors among what a program has put out go to the scheme; the rest stays.
  void hand_over_factors(const Compiled& compiled, std::vector<Tensor>& outputs, double weight);
  StepTotals run_share(const data::Batch& batch, const StepInput& input, StepResult& result);
  /// Forward and backward; gradients go to `on_gradient`. The loss is the last of what it returns.
  std::vector<Tensor> run_program(Run& run, const data::Batch& batch, const GradientCallback& on_gradient);
  Compiled& compiled_for(const data::Batch& batch);
  std::unique_ptr<Compiled> compile(const data::Batch& batch);
  /// Marks what the optimiser's groups freeze; returns the names.
  std::vector<std::string> freeze_by_groups(Graph& graph) const;
  /// Tells the optimiser of the parameters that the program trains and of those that its groups freeze.
  void register_parameters(const Compiled& compiled, const std::vector<std::string>& frozen);
  void register_parameter(const Variables& variables, size_t variable, bool sparse);
  Session& session_of(Compiled& compiled);
  void on_gradient(Run& run, const GradientView& view);
  void check_loss(Run& run);
  void apply(const GradientView& view);
  /// Multiplies by the scale, limits the norm, updates.
  void apply_all(const Update& update);
  double total_norm_squared(const std::vector<GradientView>& views) const;
  bool apply_sums();

  Model& model_;
  Loss loss_;
  optim::Optimizer& optimizer_;
  StepOptions options_;
  uint64_t runs_ = 0;
  uint64_t trainable_version_ = 0;
  uint64_t frozen_version_ = 0;
  /// Optimiser's number of each variable, -1 if it has none.
  std::vector<int> optimizer_index_;
  std::vector<TrainedVariable> trained_;
  /// Most recently used first.
  std::list<std::unique_ptr<Compiled>> compiled_;
  GradientSums sums_;
};

}  // namespace thalweg
