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

/// What becomes of a worker's gradients.
enum class GradientPath {
  kOwnUpdate,         ///< each worker updates its own weights with them, as they become final
  kHandedOver,        ///< the scheme takes each one, and gives back what to apply
  kHandedOverInPlace  ///< the same, but they must stay where they are until the update
};

/// The gradient of a fully connected layer's matrix [m, n] as two factors of `rows` rows each, one for every vector
/// that the layer was applied to: the gradient is the product of `left` [rows, m], transposed, and `right` [rows, n].
struct FactoredGradient {
  size_t variable = 0;
  size_t rows = 0;
  std::span<const float> left, right;
};

/// What a scheme gives back for the gradients that it was handed.
struct Update {
  /// To apply, valid until the next step; none if the scheme has made the update itself.
  std::vector<GradientView> gradients;
  /// What they have to be multiplied with.
  double scale = 1.0;
  /// The sum of squares over all gradients of the step, if those above are only some of them.
  std::optional<double> norm_squared;
};

/// How several workers train one model: the trainer calls these at fixed places of every step, and knows nothing else
/// of the others. All calls come from the thread that trains. Nothing here says that workers step together: a scheme
/// may have threads of its own, and each worker may be at a step of its own. Those calls that need all workers say so.
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
  /// All workers, before the first step: they agree on weights, optimiser state and position. Who comes later gets them
  /// from those who are ahead. True if the one that leads lacks a checkpoint: all then take one before the next step.
  virtual bool start(Trainee& trainee) = 0;

  virtual GradientPath gradient_path() const = 0;
  /// A gradient of this worker's share is final; `weight` is the share of the batch's samples that it stands for.
  virtual void add_gradient(const GradientView& /*gradient*/, double /*weight*/) {}
  /// Gradients of fully connected layers are not computed here but handed over as what they are computed from, after
  /// all others.
  virtual bool takes_factors() const { return false; }
  virtual void add_factors(const FactoredGradient& /*gradient*/, double /*weight*/) {}
  /// After the backward pass, of which a worker without samples has none: completes the exchange of gradients, if they
  /// were handed over, and makes `totals` those of the whole group if this worker knows them. Throws GroupChanged.
  virtual Update exchange(StepTotals& totals) = 0;
  /// After the update. True if all others have taken part in this step, and have done all that comes before it. Throws
  /// GroupChanged.
  virtual bool after_update() { return true; }
  /// The steps under way only show how fast workers and their links are: they change no weights, `regroup` takes them
  /// back, and none of them is the last.
  virtual bool measures() const { return false; }
  /// Something that those who watch the run should know, once; empty: nothing.
  virtual std::string take_news() { return ""; }
  /// After every step: how this worker fares, for those who watch the group.
  virtual void report(const TrainState& /*state*/) {}

  /// When a checkpoint is due by this worker's count of steps: the whole state of the group, at the worker that leads;
  /// others help it to that, if they are needed. Throws GroupChanged.
  virtual std::optional<Checkpoint> checkpoint(Trainee& trainee) = 0;

  /// The group is to change after this step: somebody waits to be admitted, or was lost after all had the step's sums.
  /// `regroup` then comes next.
  virtual bool change_wanted() const = 0;
  /// All workers, after GroupChanged or when a change is wanted: goes on with those who are there. The trainee may be
  /// at another step afterwards, and the share another. True as `start`.
  virtual bool regroup(Trainee& trainee, const std::string& failure) = 0;
  /// The run is over, also for all others. Throws GroupChanged; after `regroup` it is to be called again.
  virtual void finish(Trainee& trainee) = 0;
  /// An error ends this worker's run: the trainee is not used any more. `shared` is its text if it is one that all
  /// workers come to: those who have not yet, and would find nobody to go on with, end with it too. Empty otherwise.
  virtual void abandon(const std::string& shared) = 0;
};

}  // namespace thalweg
