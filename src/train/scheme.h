// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "runtime/program.h"
#include "thalweg/data/sampler.h"
#include "thalweg/optim.h"
#include "thalweg/train.h"
#include "train/checkpoint.h"

namespace thalweg {

/// A parameter that is trained.
struct TrainedVariable {
  size_t variable = 0;
  /// In its layout, padding included.
  size_t num_floats = 0;
  /// Its gradient consists of some rows of `row_size`.
  bool sparse = false;
  int64_t row_size = 1;
};

/// What came of a step: of one worker's share of the batch, and after the exchange of all of it.
struct StepTotals {
  /// Sum over the samples.
  double loss = 0;
  double samples = 0;
  /// Somebody wants the run to end after this step.
  bool stop = false;
  /// Every worker has these same totals, and decides the same by them.
  bool of_all = false;
};

/// Leaves a step whose exchange could not be completed because a worker was lost. Nothing of that step has been
/// applied.
class GroupChanged : public Error {
 public:
  using Error::Error;
};

/// Ends the run of every worker: all come to it at the same place, and would again.
class SharedError : public Error {
 public:
  using Error::Error;
};

/// The trainer, as its scheme sees it.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual Variables& variables() = 0;
  /// In the order in which their gradients become final.
  virtual const std::vector<TrainedVariable>& trained() const = 0;
  /// Updates completed.
  virtual int64_t iteration() const = 0;
  /// For schemes that update parts of parameters themselves: the optimiser, its number of a variable, the rate of the
  /// step under way, and the limit of the norm over all gradients (0: none).
  virtual optim::Optimizer& updater() = 0;
  virtual size_t updater_index(size_t variable) const = 0;
  virtual double learning_rate() const = 0;
  virtual double clip_norm() const = 0;
  /// To be held while weights change outside a step.
  virtual std::unique_lock<std::shared_mutex> lock_weights() = 0;
  /// Everything another worker needs to go on from here.
  virtual Checkpoint snapshot() = 0;
  virtual void restore(const Checkpoint& snapshot) = 0;
  /// A checkpoint was due of which this worker does not know that it was written.
  virtual bool lacks_checkpoint() const = 0;
};

/// How several workers train one model: the trainer calls these at fixed places of every step, and knows nothing else
/// of the others. All calls come from the thread that trains.
class Scheme {
 public:
  virtual ~Scheme() = default;

  /// This worker's share of every batch, from the last `start` or `regroup` on.
  virtual data::Share share() const = 0;
  /// One of the workers writes checkpoints and shows progress.
  virtual bool leads() const = 0;

  /// Before anything else, and before the data is looked at: the workers spread their rows, if each has its own.
  /// `share` is known from then on.
  virtual void meet(int64_t /*batch_size*/) {}
  /// Before the first step: the workers agree on weights, optimiser state and position. Who comes later gets them from
  /// those who are ahead.
  virtual void start(Trainee& trainee) = 0;

  /// True if gradients go to `add_gradient` and come back from `finish_gradients` for the update; false if each worker
  /// updates its own weights with its own gradients.
  virtual bool exchanges_gradients() const = 0;
  /// True if gradients must stay where they are from `add_gradient` until the update.
  virtual bool keeps_gradients() const { return false; }
  /// A gradient of this worker's share is final; `weight` is the share of the batch's samples that it stands for. The
  /// memory is used for something else afterwards, unless the scheme keeps gradients.
  virtual void add_gradient(const GradientView& /*gradient*/, double /*weight*/) {}
  /// After the backward pass, of which a worker without samples has none: completes the exchange, makes `totals` those
  /// of the whole group, and returns the gradients to apply, valid until the next step; none if the scheme has made the
  /// update itself. Throws GroupChanged.
  virtual std::vector<GradientView> finish_gradients(StepTotals& totals) = 0;
  /// What those gradients have to be multiplied with.
  virtual double gradient_scale() const { return 1.0; }
  /// The sum of squares over all gradients of the step, if `finish_gradients` has returned only some of them.
  virtual std::optional<double> gradient_norm_squared() const { return std::nullopt; }
  /// After the update. Throws GroupChanged.
  virtual void after_update() {}

  /// After every step: how this worker fares, for those who watch the group.
  virtual void report(const TrainState& /*state*/) {}
  /// All others have taken part in the step that this worker has just completed, and have done all that comes before
  /// it.
  virtual bool in_lockstep() const { return true; }
  /// At the same step at every worker, before the one that leads takes a snapshot for a checkpoint: hands it what only
  /// others have. Throws GroupChanged.
  virtual void before_checkpoint(Trainee& /*trainee*/) {}
  /// The snapshot is taken.
  virtual void after_checkpoint(Trainee& /*trainee*/) {}

  /// True at the same step at every worker: somebody waits to be admitted. `regroup` then comes next.
  virtual bool change_wanted() const = 0;
  /// After GroupChanged, or when a change is wanted: goes on with those who are there. The trainee may be at another
  /// step afterwards, and the share another.
  virtual void regroup(Trainee& trainee, const std::string& failure) = 0;
  /// After `start` and `regroup`, the same at every worker: the one that leads lacks a checkpoint, and all take part in
  /// making up for it before the next step.
  virtual bool checkpoint_missing() const { return false; }
  /// The run is over, also for all others. Throws GroupChanged; after `regroup` it is to be called again.
  virtual void finish(Trainee& trainee) = 0;
  /// An error ends this worker's run: the trainee is not used any more. `shared` is its text if it is one that all
  /// workers come to: those who have not yet, and would find nobody to go on with, end with it too. Empty otherwise.
  virtual void abandon(const std::string& shared) = 0;
};

}  // namespace thalweg
