// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "sync/block_filter.h"
#include "sync/outbox.h"
#include "sync/peer_talk.h"
#include "sync/served_codes.h"
#include "sync/served_part.h"
#include "sync/sparse_exchange.h"

namespace thalweg::sync {

/// Serves one part of the parameters, and brings this worker's gradients to those who serve the others. A push goes to
/// every server as soon as there is one; the server updates its part with it, and answers with the new weights as soon
/// as the pusher may have them. Nobody waits for a server or a worker of which it wants nothing.
///
/// Tables with sparse gradients are whole at every worker: their rows go to everybody with each push, and are applied
/// by the thread that trains when it next looks.
class ParameterServer : public PeerTalk {
 public:
  struct Options {
    /// How many steps a worker may be ahead of the slowest one and still get weights; kUnbounded: any number.
    int64_t staleness = 0;
    /// Servers update once for all workers, with the mean of what all of one step have brought, in order of rank...
    bool in_steps = false;
    /// ... or of all but so many, the last ones, whose gradients are dropped.
    int backup = 0;
    /// Others that keep a copy of a server's part: an update counts as made when they have it.
    int copies = 0;
    /// Weights that have moved by less than this share since a worker got them last are not sent to it again; 0: all
    /// are.
    double filter = 0;
    /// Of the scheme, for this epoch; what their compressors keep outlives the server.
    ServedCodes& codes;
    SparseExchange& sparse;
    /// The compressor of `codes`, if it takes factors; null otherwise.
    FactorForm* factors = nullptr;
  };
  /// What is left of an epoch.
  struct Remains {
    /// Gradients that were not sent, for the server of the next one.
    Outbox unsent;
    Shard::Place place;
    /// Of the part that was served, and of those that were copied here.
    std::map<int, std::vector<float>> weights;
    /// Where all step together, of the same parts, by steps of this epoch. A server may have made the update of a step
    /// that nobody has completed, for another one had not got what it takes.
    std::map<int, ServedPart::History> histories;
    /// How often the part that was served had been updated, with the last step.
    int64_t updates = 0;
    /// Whether the last codes of this worker count is for the group to say: they do if their step does.
    bool codes_open = false;
  };

  /// From the trainee's weights.
  ParameterServer(comm::Group& group, Trainee& trainee, const Options& options, Outbox unsent);
  ~ParameterServer() override;

  // All that follows is for the thread that trains. What the other thread has ended with, if it threw something, is
  // thrown wherever this one asks how things are.

  /// This worker has made a step.
  void push(GradientBuckets& gradients, const std::map<size_t, Factors>& factors, double weight);
  /// The same, but the loss was not finite.
  void push_bad();
  /// Of a step of all, somebody's loss was not finite, and nothing was updated. Told once.
  bool take_bad();
  /// Until the weights here contain all steps of the slowest worker but for the last `staleness` of this one's, or the
  /// epoch ends. Fails at the deadline.
  comm::Status wait_for_others(int64_t staleness, std::chrono::duration<double> longest);
  /// Until they contain all that this worker has brought: waits for nobody but the servers. As above otherwise.
  comm::Status wait_for_own(std::chrono::duration<double> longest);
  /// Gives the trainee the newest weights. Needs the lock of its weights.
  void pull(Trainee& trainee);
  /// This worker makes no more steps. Until all others have said the same; then `collect` gives what all end with.
  /// Fails if for so long nobody of those who have not has made a step.
  comm::Status finish(std::chrono::duration<double> longest);
  /// All workers, after that: all weights and the whole state of the optimiser.
  comm::Status collect(Trainee& trainee);

  /// Between the two, if the first does not fail, this worker's optimiser has the state of all parts, and its own part
  /// is not updated.
  comm::Status begin_snapshot(std::chrono::duration<double> longest);
  void end_snapshot();
  /// Between the two: what the compressors of all workers keep, by rank.
  const std::vector<std::vector<NamedTensor>>& kept_by_all() const { return kept_by_all_; }
  /// After every step: somebody asks to be admitted. Where all step together, all go on to the end of the same step.
  void look_for_newcomers();
  bool admits() const { return admits_here_ || PeerTalk::admits(); }
  /// Gradients that came here too late for their step, and were not applied.
  int64_t dropped() const { return dropped_; }

  /// Ends the thread, whatever it does.
  Remains stop();
  const GradientBuckets& buckets() const { return map_; }

 private:
  /// A step is made by all or by nobody.
  bool has_whole_steps() const { return options_.in_steps && options_.backup == 0; }

  static constexpr uint64_t kPush = kFirstKind, kReply = kFirstKind + 1, kNorm = kFirstKind + 2,
                            kWantsState = kFirstKind + 3, kState = kFirstKind + 4, kCopy = kFirstKind + 5,
                            kCopied = kFirstKind + 6;

  /// What a worker has brought, at the server.
  struct Contribution {
    bool here = false;
    bool bad = false;
    /// The worker knows of somebody who asks to be admitted.
    bool newcomers = false;
    int64_t clock = 0;
    double weight = 0, weighted_rate = 0, rate = 0;
    /// Limits the norm of this worker's gradients.
    double clip = 1;
    std::vector<float> gradient;
    std::vector<SparseRows> rows;
  };
  /// The rows of an update, to be applied by the thread that trains.
  struct RowsOfUpdate {
    std::vector<SparseRows> rows;
    double rate = 0, scale = 1;
  };

  /// The bits of a push, and of a reply.
  static constexpr uint64_t kIsBad = 1, kNewcomers = 2, kHasWeights = 4, kAcknowledges = 8;

  // Of the worker; with the lock held.
  void send_if_ready();
  /// What the last codes have left out counts, or does not.
  void settle_codes(bool is_complete);
  double own_clip_scale() const;
  int64_t contained(int rank) const;
  int64_t slowest() const;
  int furthest_behind() const;
  /// Of a step that was waited for until the update was here, or the epoch was over.
  comm::Status what_became(bool of_step) const;

  // Of the thread that serves.
  comm::Status handle(int from, uint64_t kind, std::span<const std::byte> contents) override;
  void is_done(int from) override;
  comm::Status take_push(int from, std::span<const std::byte> contents);
  void read(Contribution& to, std::span<const std::byte> contents, int64_t& version);
  comm::Status take_reply(int from, std::span<const std::byte> contents);
  comm::Status take_norm(int from, std::span<const std::byte> contents);
  comm::Status take_wish_for_state(int from, std::span<const std::byte> contents);
  comm::Status take_state(int from, std::span<const std::byte> contents);
  comm::Status take_copy(int from, std::span<const std::byte> contents);
  comm::Status take_copied(int from);
  void apply(Contribution& contribution);
  /// Updates the part here, and tells those who keep copies.
  void update(std::span<const float> gradient, double rate, double scale);
  /// Does it as soon as all copies have the last update.
  void after_copies(std::function<void()> then);
  void run_after_copies();
  void hand_rows(std::vector<SparseRows> rows, double rate, double scale);
  /// A step of all, if all that it takes is here.
  void advance();
  bool step_is_ready() const;
  void add_up();
  void finish_step();
  void reply(int to, uint64_t flags);
  /// Answers those who wait for slower workers.
  void reply_to_waiting();
  /// Tells its state to one that has made so many steps: where all step together, not before this worker's are
  /// complete.
  void send_state(int to, int64_t steps);
  Bytes state_here();

  Trainee& trainee_;
  Options options_;
  /// Where each parameter lies in the row of all.
  GradientBuckets map_;
  size_t row_floats_ = 0;
  ServedPart part_;
  /// Copies of those of the servers before this one.
  std::vector<ServedPart> copies_;
  /// By worker, if there is one.
  std::vector<BlockFilter> filters_;
  std::vector<DenseParameter> dense_;
  std::vector<size_t> tables_;
  double clip_norm_ = 0;

  // Of the thread that serves, or of one that holds `serving_`.
  std::mutex serving_;
  std::vector<Contribution> contributions_;
  /// Of each worker, the step of its last push; of those who are done, without end.
  std::vector<int64_t> clocks_;
  /// Of those who wait for others, at which step they do; none otherwise.
  std::vector<std::optional<int64_t>> waiting_;
  int64_t steps_served_ = 0;
  /// Those among them whose loss was finite.
  int64_t good_steps_ = 0;
  std::atomic<int64_t> dropped_{0};
  /// Updates that others were told to copy, and of each of those how many it has.
  int64_t copies_told_ = 0;
  std::map<int, int64_t> copied_;
  /// What waits for copies, with the number of updates that all must have.
  std::deque<std::pair<int64_t, std::function<void()>>> after_copies_;
  /// The sum of a step of all, and what belongs to it.
  Contribution sum_;
  bool summed_ = false;
  /// Of steps of all: the squares of the norms of all parts.
  std::map<int64_t, std::map<int, double>> norms_;

  // With the lock of PeerTalk.
  Outbox outbox_;
  int64_t steps_ = 0;
  CodeStep code_step_;
  bool codes_open_ = false;
  std::vector<int> unanswered_;
  bool done_asked_ = false, done_told_ = false;
  /// By server: the steps of all workers that its weights here contain, and how often it had been updated.
  std::vector<std::vector<int64_t>> seen_;
  std::vector<int64_t> versions_;
  std::vector<float> published_;
  std::deque<RowsOfUpdate> published_rows_;
  int64_t progress_ = 0;
  bool fresh_ = false;
  bool bad_step_ = false;
  std::atomic<bool> admits_here_{false};
  /// Who waits for this worker's state, and after how many steps.
  std::optional<std::pair<int, int64_t>> state_wanted_;
  std::vector<std::vector<float>> states_;
  size_t states_here_ = 0;
  std::vector<std::vector<NamedTensor>> kept_by_all_;
  std::unique_lock<std::mutex> snapshot_;
};

}  // namespace thalweg::sync
