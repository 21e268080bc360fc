// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "thalweg/data.h"
#include "thalweg/metrics.h"
#include "thalweg/model.h"
#include "thalweg/optim.h"
#include "thalweg/schedules.h"
#include "thalweg/triggers.h"

namespace thalweg {

class Scheme;

/// Builds the value that training makes small: one element, from the model's outputs and the targets of a batch. Made
/// from a function of both lists; of two values, for models with one of each; or of two values and options, which then
/// take their defaults:
///
///   Loss loss = losses::cross_entropy;
///   Loss loss = [](Value* output, Value* target) { return ops::reduce_mean(ops::abs(ops::sub(output, target))); };
class Loss {
 public:
  using Values = std::vector<Value*>;

  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Loss>>>
  Loss(F build) {  // NOLINT: a loss is written where it is needed
    if constexpr (std::is_invocable_r_v<Value*, F, Value*, Value*>) {
      build_ = [build = std::move(build)](const Values& outputs, const Values& targets) {
        require_one_each(outputs, targets);
        return build(outputs[0], targets[0]);
      };
    } else {
      build_ = std::move(build);
    }
  }
  template <typename Options, typename = std::enable_if_t<std::is_class_v<std::decay_t<Options>> ||
                                                          std::is_enum_v<std::decay_t<Options>>>>
  Loss(Value* (*build)(Value*, Value*, Options))  // NOLINT
      : Loss([build](Value* output, Value* target) { return build(output, target, std::decay_t<Options>()); }) {}

  Value* operator()(const Values& outputs, const Values& targets) const { return build_(outputs, targets); }

 private:
  static void require_one_each(const Values& outputs, const Values& targets);
  std::function<Value*(const Values&, const Values&)> build_;
};

/// What is measured on data: "loss" and every metric by its name.
using Scores = std::map<std::string, double>;

/// Where a run stands and how it fares.
struct TrainState {
  optim::Progress progress;
  double learning_rate = 0;
  /// Mean over the epoch so far.
  double epoch_loss = 0;
  /// Since the epoch began, waiting for data included.
  double samples_per_second = 0;
  /// Share of that time in which training waited for data.
  double data_wait_share = 0;
  /// Share of it in which this worker waited for the others of its group.
  double exchange_wait_share = 0;
  /// Of the epoch under way: batches done and in all.
  int64_t batch = 0;
  int64_t batches_per_epoch = 0;
  /// Of the whole run; 0 if something else than a number of epochs ends it.
  int64_t epochs = 0;
  double epoch_seconds = 0;
  /// Of the last validation; empty before there is one.
  Scores validation;
};

/// "epoch 2/3  step 120/938  loss 0.2310  1234 samples/s  data wait 2%  ETA 0:32".
std::string progress_text(const TrainState& state);
/// The same of an epoch that has ended, with its validation.
std::string epoch_text(const TrainState& state);

/// Watches a run. Called from the thread that called fit; whatever it throws ends the run and leaves fit.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_start(const TrainState& /*state*/) {}
  /// Several times a second while a batch of data is waited for: the time to look for a reason to stop.
  virtual void on_wait() {}
  /// After every change of the weights.
  virtual void on_step(const TrainState& /*state*/) {}
  /// In place of on_step, after a step that only measures and is taken back (the scheme "auto" of thalweg/sync.h).
  virtual void on_measured_step(const TrainState& /*state*/) {}
  /// After every batch of a validation.
  virtual void on_validation_batch(const TrainState& /*state*/) {}
  virtual void on_validation(const TrainState& /*state*/) {}
  virtual void on_epoch(const TrainState& /*state*/) {}
  virtual void on_checkpoint(const TrainState& /*state*/, const std::string& /*path*/) {}
  /// Also after a stop, not after an error.
  virtual void on_end(const TrainState& /*state*/) {}
  /// Something worth a line: a batch that was skipped, an early stop.
  virtual void on_message(const std::string& /*text*/) {}
};

struct EarlyStopping {
  /// Validations without a better score after which training stops; 0: never.
  int64_t patience = 0;
  /// What counts as better.
  double min_change = 0;
  /// The model ends with the weights of its best validation, also if training went on to its end.
  bool restore_best = true;
};

struct CheckpointOptions {
  /// Where checkpoints are kept, each a folder step-<iteration>; empty: none.
  std::string directory = "";
  optim::Trigger when = optim::every_epoch();
  /// The newest ones that are kept.
  int keep = 3;
};

enum class NonFinite {
  kError,  ///< a loss that is NaN or infinite, or NaN in the data, ends the run; the weights are those before that
           ///< batch
  kSkip    ///< a batch whose loss is NaN or infinite is left out, with a message; NaN in the data may be
};

enum class ShowProgress {
  kAuto,   ///< one live line on a terminal, a line now and then elsewhere
  kLines,  ///< a line now and then
  kNone
};

struct TrainOptions {
  int64_t epochs = 1;
  /// Ends the run in place of `epochs`.
  std::optional<optim::Trigger> end = std::nullopt;
  int64_t batch_size = 32;
  bool shuffle = true;
  /// Samples that an epoch's order mixes with each other, 0: all (data::SamplerOptions). Rows of large files that are
  /// read in parts want some parts' worth.
  int64_t shuffle_window = 0;
  data::LastBatch last_batch = data::LastBatch::kKeep;
  /// The order of samples and what random ops draw.
  uint64_t seed = 0;

  /// 0: the optimiser's own. Ignored with a schedule.
  double learning_rate = 0;
  optim::SchedulePtr schedule = nullptr;
  /// Batches whose gradients are averaged before the weights change.
  int accumulate = 1;
  /// Limit of the norm over all gradients; 0: none.
  double clip_norm = 0;
  /// Limit of every element of a gradient; 0: none.
  double clip_value = 0;
  Precision precision = Precision::kF32;
  Math math = Math::kFast;
  /// kMeasured may gain a little speed; a run that is resumed on another kind of CPU then differs in the last bits.
  Tuning tuning = Tuning::kFixed;
  /// 0: what the machine and its control group allow.
  int threads = 0;
  NonFinite non_finite = NonFinite::kError;
  /// Times every node, for Trainer::explain.
  bool profile = false;

  optim::Trigger validate = optim::every_epoch();
  /// Measured at every validation besides the loss, on the first output and the first target unless
  /// metrics::on_output says otherwise.
  std::vector<std::shared_ptr<metrics::Metric>> metrics = {};
  /// Which score schedules, triggers and early stopping look at: a metric's name or "loss". Empty: the first metric, or
  /// the loss if there is none.
  std::string score = "";
  EarlyStopping early_stopping = {};
  CheckpointOptions checkpoints = {};
  /// Folder for TensorBoard events; empty: none.
  std::string tensorboard = "";
  ShowProgress progress = ShowProgress::kAuto;
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  /// Batches fetched ahead.
  int prefetch = 2;
  /// Threads that read samples; 0: as many as there are processors if samples are costly to read, otherwise 1.
  int readers = 0;
  /// What becomes of samples that cannot be read. Those that are left out are told at the end (Trainer::skipped).
  data::BadSample bad_samples = data::BadSample::kFail;
  /// How this worker and others train the model together (thalweg/sync.h); null: alone. All must have the same options
  /// and, unless each has rows of its own (SchemeOptions::rows), data. `batch_size` is that of all workers together:
  /// each takes a part of every batch. Losses, samples and speeds are those of the group. The first worker writes
  /// checkpoints and TensorBoard events and shows progress.
  std::shared_ptr<Scheme> scheme = nullptr;
};

struct EpochRecord {
  int64_t epoch = 0;
  int64_t iteration = 0;
  double loss = 0;
  double learning_rate = 0;
  double seconds = 0;
  double samples_per_second = 0;
  double data_wait_share = 0;
  /// Empty if none took place in the epoch's last step.
  Scores validation;
};

/// Trains a model. The model must outlive the trainer; while `fit` runs, other threads may ask it for predictions.
class Trainer {
 public:
  Trainer(Model& model, Loss loss, optim::Optimizer optimizer, TrainOptions options = {});
  ~Trainer();

  /// Trains until the end trigger fires or a stop is requested, and returns the record of every epoch. A second call
  /// goes on where the first one ended if the end trigger allows it.
  const std::vector<EpochRecord>& fit(const data::Dataset& train, const data::Dataset* validation = nullptr);
  const std::vector<EpochRecord>& fit(const data::Dataset& train, const data::Dataset& validation) {
    return fit(train, &validation);
  }
  /// The mean loss and the metrics over all samples.
  Scores evaluate(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics);
  Scores evaluate(const data::Dataset& data);
  /// What schedules and early stopping look at (TrainOptions::score), negative if lower is better: higher is better.
  double score(const data::Dataset& data);

  /// Ends `fit` after the step under way, with a checkpoint if they are on and the model in a usable state. Holds until
  /// it is taken back. An `evaluate` under way ends after its batch, with what it has seen. Safe in a signal handler.
  void request_stop(bool stop = true) { stop_.store(stop); }
  bool stop_requested() const { return stop_.load(); }

  /// Reads a checkpoint, either a folder step-<iteration> or one that holds such folders, of which the newest complete
  /// one counts. `fit` then gives the weights that the run would have had without the interruption. Nothing has changed
  /// when it throws.
  void resume(const std::string& path);
  /// True if there is a checkpoint to resume from.
  static bool can_resume(const std::string& path);
  /// Writes one now; returns its folder.
  std::string save_checkpoint(const std::string& directory);

  const TrainState& state() const;
  const std::vector<EpochRecord>& history() const;
  /// Samples that could not be read and were left out (TrainOptions::bad_samples) by the last `fit`, validations
  /// included, and by evaluations since. One that came up in several epochs counts as often. In a group, of this
  /// worker.
  const data::SkippedSamples& skipped() const;
  optim::Optimizer& optimizer();
  /// How a training step runs: kernels, layouts, memory, why better kernels declined, and with TrainOptions::profile
  /// the mean time of each node.
  std::string explain() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> stop_{false};
};

}  // namespace thalweg
