// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>

#include "sync/row_exchange.h"
#include "sync/scheme_state.h"
#include "sync/step_pace.h"
#include "thalweg/comm.h"
#include "thalweg/sync.h"
#include "train/scheme.h"

namespace thalweg::sync {

/// What all schemes over a group share: who takes which part of a batch, how newcomers and stragglers are brought up to
/// date, and how the group goes on when its membership changes.
class GroupScheme : public Scheme {
 public:
  explicit GroupScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options);

  data::Share share() const override { return {group_->rank(), group_->size(), rows_ ? rows_->total() : 0}; }
  bool leads() const override { return group_->rank() == 0; }
  void meet(int64_t batch_size) override;
  bool start(Trainee& trainee) override;
  void report(const TrainState& state) override;
  std::optional<Checkpoint> checkpoint(Trainee& trainee) override;
  bool change_wanted() const override { return change_wanted_; }
  bool regroup(Trainee& trainee, const std::string& failure) override;
  void finish(Trainee& trainee) override;
  void abandon(const std::string& shared) override;

  // For a scheme that decides which other one the workers follow, and when that begins.

  /// In place of rows of its own.
  void share_rows(std::shared_ptr<GroupRows> rows) { rows_ = std::move(rows); }
  /// Every worker of the group's epoch: brings all to the same state, from which this scheme trains. After a failure
  /// again in the next epoch.
  comm::Status settle_in_epoch(Trainee& trainee);
  /// Leaves the epoch for the next one. False if there is none because this worker was at the end of the run, and the
  /// others have gone. `failure` says what broke; if it is empty, what was noted after the last step does.
  bool leave_epoch(const std::string& failure);
  /// The group has settled, and the worker that leads lacks a checkpoint.
  bool checkpoint_missing() const { return checkpoint_missing_; }

 protected:
  /// The trainee is at the group's step, and the membership is that of a new epoch.
  virtual void prepare(Trainee& trainee) = 0;
  /// After that, and after state of its own was set: threads of this scheme's may use the communicator from now on.
  virtual void begin(Trainee& /*trainee*/) {}
  /// Before the epoch is left: nothing of this scheme's may use its communicator any more.
  virtual void release() {}
  /// Every worker, before those who are behind get the state of the one that is furthest, at step `target`: makes that
  /// state complete where each worker has a part of it. `counts` says whether this worker is one of those whose state
  /// holds.
  virtual comm::Status complete_state(Trainee& /*trainee*/, int64_t /*target*/, bool /*counts*/) { return {}; }
  /// Workers at the same step have the same state; otherwise a new epoch begins with that of the one that is furthest.
  virtual bool keeps_own_state() const { return true; }
  /// Each worker counts its own steps, and goes on from there when the group has changed: only who is new, or was left
  /// behind, takes over the state of the one that is furthest.
  virtual bool goes_at_own_pace() const { return false; }

  virtual Holdings holdings() const { return {}; }
  /// Every worker, before the one that leads takes a snapshot: hands it what is sharded, and afterwards frees it.
  virtual comm::Status begin_checkpoint(Trainee& /*trainee*/) { return {}; }
  virtual void end_checkpoint(Trainee& /*trainee*/) {}
  /// State besides weights and optimiser that is the same at every worker. It is set before `prepare`.
  virtual std::vector<NamedTensor> common_state() { return {}; }
  virtual void set_common_state(const std::vector<NamedTensor>& /*state*/) {}
  /// State that is this worker's alone, such as what a compressor keeps: that of several workers may be added up in
  /// one. The first is called after a step is complete, the second after `prepare`.
  virtual std::vector<NamedTensor> own_state() { return {}; }
  virtual void set_own_state(const std::vector<std::vector<NamedTensor>>& /*states*/) {}
  /// The others have gone on without this worker, and have taken what was its own for lost.
  virtual void was_left_behind() {}
  /// What is left to exchange when the run is over.
  virtual comm::Status last_exchange() { return {}; }

  comm::Group& group() { return *group_; }
  comm::Communicator& communicator() { return group_->communicator(); }
  /// Adds up the totals of all workers, and lets them agree on whether a newcomer is admitted after this step.
  comm::Status exchange_totals(StepTotals& totals);
  /// Throws GroupChanged unless ok.
  static void require(const comm::Status& status);
  /// What a worker has of its own in a checkpoint where weights are local: adds those of its snapshot.
  static void add_own_weights(const Checkpoint& snapshot, std::vector<NamedTensor>& own);
  /// `weights` become the mean of those that the workers have: what a program that knows nothing of groups loads.
  static void average(const std::vector<std::vector<NamedTensor>>& workers, std::vector<NamedTensor>& weights);
  /// For an exchange that comes after the update: a failure makes the step no less complete, and the group changes
  /// after it.
  void note(const comm::Status& status);
  /// A change is wanted after this step.
  void want_change() { change_wanted_ = true; }
  bool noted_failure() const { return !failure_.empty(); }
  /// In `prepare`: a member of this name has gone on from the last epoch to this one, with its state.
  bool continues(const std::string& name) const { return continuing_.count(name) > 0; }

 private:
  /// Tells the group how this worker stood after its last step.
  void send_report();
  comm::Status spread_rows() { return rows_ != nullptr ? rows_->spread(*group_) : comm::Status(); }
  /// Brings every worker to the state of the one that is furthest.
  comm::Status synchronise(Trainee& trainee);
  /// All workers: those who are behind take over the state of rank `root`, and all of them if `everybody`.
  comm::Status hand_over_state(Trainee& trainee, int root, bool is_behind, bool everybody);
  /// What this worker has of its own in a snapshot of all.
  void take_own_weights(Checkpoint& snapshot);
  void take_resumed_state();
  comm::Status compare_layouts(Trainee& trainee);
  /// Every worker learns whether the one that leads lacks a checkpoint: only that one knows what it has written.
  comm::Status ask_for_checkpoint(const Trainee& trainee);
  /// Until an epoch holds long enough for everybody to be at the same step, or the run is over.
  void settle(Trainee& trainee, std::string failure, bool leave_first);

  std::shared_ptr<comm::Group> group_;
  /// Null if all workers have the same data.
  std::shared_ptr<GroupRows> rows_;
  std::set<std::string> continuing_;
  bool change_wanted_ = false;
  bool checkpoint_missing_ = false;
  /// What workers had of their own in the checkpoint that the group has started from.
  std::vector<std::vector<NamedTensor>> resumed_;
  std::string failure_;
  /// All that there was to exchange in this epoch has been.
  bool at_end_ = false;
  /// All others were as well, so that nobody has anything left to do.
  bool over_ = false;
  /// The last epoch in which this worker was at the group's step; 0: none. Who was left behind has an older one than
  /// those who went on.
  uint64_t settled_epoch_ = 0;
  std::chrono::steady_clock::time_point next_report_;
  /// After the last step; none before the first.
  std::optional<TrainState> reported_;
  StepPace pace_;
};

}  // namespace thalweg::sync
