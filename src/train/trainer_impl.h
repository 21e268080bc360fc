// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/model_impl.h"
#include "thalweg/safetensors.h"
#include "thalweg/train.h"
#include "train/checkpoint.h"
#include "train/early_stop.h"
#include "train/evaluator.h"
#include "train/scheme.h"
#include "train/training_step.h"

namespace thalweg {

/// Of the epoch under way.
struct EpochTotals {
  double loss_sum = 0;
  int64_t samples = 0;
  double seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
};

/// Steps of checkpoints; -1: none.
struct CheckpointSteps {
  /// When one was last due.
  int64_t due = -1;
  /// The last one that this worker has taken part in.
  int64_t taken = -1;
  /// The last one that was written, as far as this worker knows.
  int64_t written = -1;
};

struct Trainer::Impl : Trainee {
  Impl(Model& trained, const Loss& loss, optim::Optimizer given, TrainOptions given_options, std::atomic<bool>& flag);

  void fit(const data::Dataset& train, const data::Dataset* validation);
  void run(const data::Dataset& train, const data::Dataset* validation);
  void start(const data::Dataset& train, const data::Dataset* validation);
  /// One batch and what follows from it; true when the run ends.
  bool advance(data::Loader& loader, const data::Dataset* validation);
  bool run_batch(const data::LoadedBatch& loaded);
  bool take_step(const data::LoadedBatch& loaded);
  void count_batch(const StepResult& result);
  /// For messages: the step, epoch and batch.
  std::string place_of(const data::LoadedBatch& loaded) const;
  void report_bad_batch(const data::LoadedBatch& loaded, const NonFiniteLoss& bad);
  void complete_step(const data::LoadedBatch& loaded, bool updated);
  void validate(const data::Dataset& data);
  Scores measure(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics,
                 const std::atomic<bool>& stop_early);
  /// Says how many samples were left out, if any were.
  void tell_skipped();
  void end_epoch(bool validated);
  /// Unless there is one of this step. Throws GroupChanged; then `regroup` makes up for it.
  void checkpoint_now_due();
  void checkpoint();
  void last_checkpoint_of_run();
  /// Takes the weights that validated best, if some were kept.
  void restore_best();
  void tell(const std::function<void(Callback&)>& event);

  // In a group: trainer_group.cc.
  /// This worker has just come to the group's step.
  void join_in();
  /// Goes on with those who are there, with no checkpoint missing.
  void regroup(std::string failure);
  /// After the group has settled at a step: takes the checkpoint that its leader lacks, if it does.
  void make_up_checkpoint();
  /// With those who are there, however often the group changes.
  void finish_group();

  // The state that a checkpoint keeps: trainer_state.cc.
  std::string to_json() const;
  void from_json(const nlohmann::json& json);
  void check_settings(const nlohmann::json& json) const;
  void resume(const std::string& path);

  // Trainee: what the scheme sees.
  Variables& variables() override { return *model.impl().variables; }
  const std::vector<TrainedVariable>& trained() const override { return step.trained(); }
  int64_t iteration() const override { return state.progress.iteration; }
  optim::Optimizer& updater() override { return optimizer; }
  size_t updater_index(size_t variable) const override { return step.optimizer_index(variable); }
  double learning_rate() const override { return state.learning_rate; }
  double clip_norm() const override { return options.clip_norm; }
  std::unique_lock<std::shared_mutex> lock_weights() override {
    return std::unique_lock<std::shared_mutex>(model.impl().weights_mutex);
  }
  Checkpoint snapshot() override;
  void restore(const Checkpoint& snapshot) override;
  bool lacks_checkpoint() const override {
    return !options.checkpoints.directory.empty() && checkpoints.due > checkpoints.written;
  }

  bool stopping() const { return options.scheme == nullptr ? stop.load() : stop_agreed; }
  /// Workers may score differently, so none of them ends the run by itself: the wish travels with the next step.
  bool wants_to_stop() const { return stop.load() || (options.scheme != nullptr && best.should_stop()); }
  /// Some worker of the group has found no better score for long enough.
  bool stopped_early() const {
    return options.scheme != nullptr && stop_agreed && !stop.load() && options.early_stopping.patience > 0;
  }
  bool run_is_over() const {
    return stopping() || (options.scheme == nullptr && best.should_stop()) || end(state.progress);
  }
  /// This worker writes checkpoints and shows progress.
  bool leads() const { return options.scheme == nullptr || options.scheme->leads(); }
  /// Those of all workers, if each has its own.
  int64_t samples_of(const data::Dataset& train) const;
  /// Throws InputError if NaN is in it and NonFinite forbids that, or a class that the model does not have; as far as
  /// is known before it is read.
  void check_data(const data::Dataset& data) const;
  data::BatchSampler make_sampler(int64_t samples) const;
  /// Batches from the current position on; true when the run ends, false when the group has changed.
  bool run_batches(const data::Dataset& train, const data::Dataset* validation);

  Model& model;
  optim::Optimizer optimizer;
  TrainOptions options;
  std::atomic<bool>& stop;
  TrainingStep step;
  Evaluator evaluator;
  optim::SchedulePtr schedule;
  optim::Trigger end;
  std::vector<std::shared_ptr<Callback>> callbacks;
  /// Of the worker that leads.
  std::vector<std::shared_ptr<Callback>> leader_callbacks;
  std::string score_name;

  TrainState state;
  EpochTotals totals;
  /// Of the batches whose gradients the next update averages.
  double group_loss = 0;
  int64_t group_samples = 0;
  data::SamplerPosition position;
  uint64_t runs = 0;
  int64_t train_samples = 0;
  BestScore best;
  std::vector<NamedTensor> best_weights;
  std::vector<EpochRecord> history;
  data::SkippedSamples skipped;
  CheckpointSteps checkpoints;
  /// Somebody, here or at another worker, wants the run to end.
  bool stop_agreed = false;
  /// All others have completed the last step too.
  bool in_lockstep = false;
  /// The group has settled at a step of which the worker that leads lacks a checkpoint.
  bool checkpoint_missing = false;
  /// Read by `resume`; applied once the optimiser knows its parameters.
  std::optional<SafetensorsFile> pending_optimizer;
  /// Read by `resume`, for the scheme.
  std::vector<NamedTensor> resumed_scheme;
};

}  // namespace thalweg
