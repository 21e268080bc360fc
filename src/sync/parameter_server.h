// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "sync/gradient_exchange.h"
#include "sync/shard.h"
#include "sync/sparse_exchange.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// Gradients of one worker that the servers have not got yet, of one step or several.
struct Outbox {
  /// Of all dense parameters, in the order of the buckets.
  std::vector<float> dense;
  std::vector<SparseRows> sparse;
  /// The sum of the steps' shares of their batches, and of these times the learning rates.
  double weight = 0;
  double weighted_rate = 0;
  bool filled = false;
  /// The loss of a step was not finite; its gradients are not here.
  bool bad = false;

  void add(GradientBuckets& gradients, double step_weight, double learning_rate);
  /// Nothing in it; the memory stays.
  void clear();
};

/// Serves one part of the parameters, and brings this worker's gradients to those who serve the others, on a thread of
/// its own that never waits for anybody to compute: in every round it takes what each worker has by then, updates its
/// part with the sum, and collects the new weights of all parts. Tables with sparse gradients are whole at every
/// worker, which applies the rows of each round when it next looks.
class ParameterServer {
 public:
  struct Options {
    /// Rounds take place when every worker has something to bring.
    bool waits_for_all = false;
    /// Of the scheme, for this epoch's thread; what their compressors keep outlives the server.
    GradientExchange& dense;
    SparseExchange& sparse;
  };
  /// From the trainee's weights.
  ParameterServer(comm::Group& group, Trainee& trainee, const Options& options, Outbox unsent);
  ~ParameterServer();

  // All that follows is for the thread that trains. What the other thread has ended with, if it threw something, is
  // thrown wherever this one asks how things are.

  /// This worker has made a step.
  void push(GradientBuckets& gradients, double weight);
  /// The same, but the loss was not finite.
  void push_bad();
  /// Of a round that waited for all, somebody's loss was not finite, and nothing was updated. Told once.
  bool take_bad();
  /// Until the slowest worker is at most `staleness` steps behind this one, the servers have what it had to bring, or
  /// the epoch ends. Fails at the deadline.
  comm::Status wait_for_others(int64_t staleness, std::chrono::duration<double> longest);
  /// Until the newest weights contain all that this worker has brought. As above otherwise.
  comm::Status wait_for_own(std::chrono::duration<double> longest);
  /// Gives the trainee the newest weights. Needs the lock of its weights.
  void pull(Trainee& trainee);
  /// This worker makes no more steps. Until all others have said the same; then `pull` gives what all end with. Fails
  /// if for so long nobody of those who have not has made a step.
  comm::Status finish(std::chrono::duration<double> longest);

  void ask_to_stop();
  bool stop_asked() const { return stop_asked_; }
  /// Somebody asks to be admitted: this epoch is over at the same round for all.
  bool admits() const { return admits_; }
  /// Why the epoch is over, if it failed.
  comm::Status failure() const;

  /// Between the two, if the first does not fail, this worker's optimiser has the state of all parts, and no round
  /// takes place.
  comm::Status begin_snapshot();
  void end_snapshot();
  /// Between the two: what the compressors of all workers keep, by rank.
  const std::vector<std::vector<NamedTensor>>& kept_by_all() const { return kept_by_all_; }

  /// Ends the thread, whatever it does; what was not sent is for the server of the next epoch.
  Outbox stop();
  const Shard::Place& place() const { return place_; }
  const GradientBuckets& buckets() const { return map_; }

 private:
  /// What a worker says at the beginning of a round.
  struct Header {
    double filled = 0, weight = 0, weighted_rate = 0;
    double bad = 0, steps = 0, done = 0, stop = 0, newcomers = 0, snapshot = 0;
  };
  /// The rows of a round, to be applied by the thread that trains.
  struct RowsOfRound {
    std::vector<SparseRows> rows;
    double rate = 0, scale = 1;
  };

  /// The same with the lock held.
  comm::Status failure_so_far() const;
  /// Why the epoch is over, which it is; ok if all were done. Needs the lock.
  comm::Status end_of_epoch() const;
  /// Of the other worker that is furthest behind. Needs the lock.
  comm::Failure late(const std::string& what, std::chrono::duration<double> waited) const;

  void serve();
  /// `last` becomes true when all are done or the epoch is to end.
  comm::Status round(bool& last);
  Header begin_round();
  comm::Status exchange(const Header& sum);
  /// The codes of a round count, or do not.
  void settle_codes(bool is_complete);
  /// Limits the norm of the gradients of a round, each times `scale`.
  comm::Status clip(double& scale);
  void update(double rate, double scale);
  void publish(const std::vector<Header>& headers, bool exchanged, bool bad);
  comm::Status take_part_in_snapshot();

  comm::Group& group_;
  comm::Communicator& communicator_;
  Trainee& trainee_;
  bool waits_for_all_;
  /// Where each parameter lies in flat arrays, and its gradients while they are added up.
  GradientBuckets map_;
  std::span<float> flat_;
  Shard::Place place_;
  std::vector<Piece> served_;
  /// The optimiser's numbers of the parameters of those pieces, and all dense ones. Taken at the start: the thread that
  /// trains may compile another program, and learn anew what is trained, at any time.
  std::vector<size_t> served_updaters_;
  std::vector<DenseParameter> dense_;

  // Of the thread that serves.
  GradientExchange& gradient_exchange_;
  SparseExchange& sparse_exchange_;
  int64_t rounds_ = 0;
  std::vector<std::vector<NamedTensor>> kept_by_all_;
  std::vector<float> weights_;
  Outbox outgoing_;
  /// That this worker had made when it filled the outgoing box.
  int64_t outgoing_steps_ = 0;
  RowsOfRound gathered_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Outbox outbox_;
  int64_t steps_ = 0;
  /// Of each worker, the steps that the published weights contain.
  std::vector<int64_t> contained_;
  std::vector<float> published_;
  std::vector<RowsOfRound> published_rows_;
  bool fresh_ = false;
  bool bad_round_ = false;
  bool done_ = false;
  bool over_ = false;
  bool asks_to_stop_ = false;
  bool snapshot_wanted_ = false;
  bool snapshot_ready_ = false;
  comm::Status failure_;
  std::exception_ptr error_;
  std::atomic<bool> stop_asked_{false};
  std::atomic<bool> admits_{false};
  std::atomic<bool> abandoned_{false};
  std::thread thread_;
};

}  // namespace thalweg::sync
