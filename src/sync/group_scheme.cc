// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/group_scheme.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sync/state_transfer.h"

namespace thalweg::sync {
namespace {

constexpr std::chrono::milliseconds kReportInterval{200};
constexpr const char* kOwnWeights = "weights/";
constexpr const char* kOwnOptimizer = "optimizer/";

/// Equal for workers whose trained parameters lie in memory in the same way.
uint64_t layout_fingerprint(Trainee& trainee) {
  std::string text;
  for (const TrainedVariable& entry : trainee.trained()) {
    const Variables& variables = trainee.variables();
    text += variables.name(entry.variable) + " " + variables.layout(entry.variable).to_string() + "\n";
  }
  // FNV-1a: the same number in every process, which std::hash does not promise.
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return hash;
}

/// One value of every worker, by rank.
comm::Status collect(comm::Communicator& communicator, int64_t mine, std::vector<int64_t>& all) {
  all.assign(static_cast<size_t>(communicator.size()), 0);
  all[static_cast<size_t>(communicator.rank())] = mine;
  return communicator.all_gather(all.data(), all.size(), DType::kI64);
}

}  // namespace

void GroupScheme::average(const std::vector<std::vector<NamedTensor>>& workers, std::vector<NamedTensor>& weights) {
  for (NamedTensor& entry : weights) {
    if (entry.tensor.dtype() != DType::kF32) continue;
    Tensor mean = Tensor::zeros(DType::kF32, entry.tensor.shape());
    for (const std::vector<NamedTensor>& worker : workers) {
      for (const NamedTensor& theirs : worker) {
        if (theirs.name != kOwnWeights + entry.name || theirs.tensor.type() != mean.type()) continue;
        const auto share = 1.0F / static_cast<float>(workers.size());
        for (int64_t i = 0; i < mean.num_elements(); ++i)
          mean.data<float>()[i] += share * theirs.tensor.data<float>()[i];
      }
    }
    entry.tensor = mean;
  }
}

void GroupScheme::add_own_weights(const Checkpoint& snapshot, std::vector<NamedTensor>& own) {
  for (NamedTensor& entry : with_prefix(kOwnWeights, snapshot.weights)) own.push_back(std::move(entry));
  for (NamedTensor& entry : with_prefix(kOwnOptimizer, snapshot.optimizer)) own.push_back(std::move(entry));
}

void GroupScheme::require(const comm::Status& status) {
  if (!status) throw GroupChanged(status.failure().text());
}

void GroupScheme::note(const comm::Status& status) {
  if (status.ok()) return;
  failure_ = status.failure().text();
  change_wanted_ = true;
}

GroupScheme::GroupScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options) : group_(std::move(group)) {
  if (options.rows != nullptr) rows_ = std::make_shared<GroupRows>(options.rows);
}

void GroupScheme::meet(int64_t batch_size) {
  if (rows_ == nullptr) return;
  rows_->set_batch_size(batch_size);
  for (comm::Status status = spread_rows(); !status; status = spread_rows()) {
    group_->next_epoch(status.failure().text());
  }
}

bool GroupScheme::start(Trainee& trainee) {
  settle(trainee, "", false);
  return checkpoint_missing_;
}

bool GroupScheme::regroup(Trainee& trainee, const std::string& failure) {
  settle(trainee, failure, true);
  return checkpoint_missing_;
}

bool GroupScheme::leave_epoch(const std::string& failure) {
  release();
  try {
    group_->next_epoch(failure.empty() ? failure_ : failure);
  } catch (const comm::JobEnded&) {
    // Whoever ended it has passed the last barrier: everybody had come to that.
    over_ = at_end_;
    if (!over_) throw;
  }
  at_end_ = false;
  if (over_) checkpoint_missing_ = false;
  return !over_;
}

void GroupScheme::settle(Trainee& trainee, std::string failure, bool leave_first) {
  for (bool leave = leave_first;; leave = true) {
    if (leave && !leave_epoch(failure)) return;
    const comm::Status status = settle_in_epoch(trainee);
    if (status.ok()) return;
    failure = status.failure().text();
  }
}

comm::Status GroupScheme::settle_in_epoch(Trainee& trainee) {
  comm::Status status = spread_rows();
  if (status.ok()) status = synchronise(trainee);
  if (status.ok()) status = ask_for_checkpoint(trainee);
  if (!status) return status;
  change_wanted_ = false;
  failure_.clear();
  settled_epoch_ = group_->epoch();
  // The state, with its times, may be another worker's.
  pace_ = {};
  prepare(trainee);
  if (!resumed_.empty()) take_resumed_state();
  begin(trainee);
  return {};
}

void GroupScheme::take_resumed_state() {
  // Of another number of workers each takes that of some, and nothing is left.
  std::vector<std::vector<NamedTensor>> mine;
  for (auto i = static_cast<size_t>(group_->rank()); i < resumed_.size(); i += static_cast<size_t>(group_->size())) {
    mine.push_back(std::move(resumed_[i]));
  }
  set_own_state(mine);
  resumed_.clear();
}

comm::Status GroupScheme::synchronise(Trainee& trainee) {
  if (comm::Status status = compare_layouts(trainee); !status) return status;
  // Who has trained in a later epoch counts for more, however many steps others have made by themselves or read from a
  // checkpoint.
  constexpr unsigned kIterationBits = 40;
  const int64_t mine = static_cast<int64_t>(settled_epoch_ << kIterationBits) + trainee.iteration();
  std::vector<int64_t> progress;
  if (comm::Status status = collect(communicator(), mine, progress); !status) return status;
  const auto furthest = std::max_element(progress.begin(), progress.end());
  const int root = static_cast<int>(furthest - progress.begin());
  const int64_t epoch = *furthest >> kIterationBits;
  const auto is_behind = [&](int64_t other) {
    const bool has_its_own = goes_at_own_pace() && epoch > 0 && other >> kIterationBits == epoch;
    return other != *furthest && !has_its_own;
  };
  const bool all_there = std::none_of(progress.begin(), progress.end(), is_behind);
  continuing_.clear();
  for (size_t rank = 0; rank < progress.size(); ++rank) {
    if (epoch > 0 && progress[rank] >> kIterationBits == epoch) continuing_.insert(group_->names()[rank]);
  }
  if (settled_epoch_ > 0 && static_cast<int64_t>(settled_epoch_) < epoch) was_left_behind();
  if (epoch > 0) {
    const int64_t target = *furthest & ((int64_t{1} << kIterationBits) - 1);
    const bool counts = static_cast<int64_t>(settled_epoch_) == epoch;
    if (comm::Status status = complete_state(trainee, target, counts); !status) return status;
  }
  // At the very beginning they may still differ, if they were not initialised alike.
  const bool everybody = epoch == 0 || !keeps_own_state();
  if (all_there && !everybody) return {};
  return hand_over_state(trainee, root, is_behind(mine), everybody);
}

comm::Status GroupScheme::hand_over_state(Trainee& trainee, int root, bool is_behind, bool everybody) {
  Checkpoint snapshot;
  const bool is_root = group_->rank() == root;
  if (is_root) {
    snapshot = trainee.snapshot();
    // Otherwise it has what was read from a checkpoint.
    if (settled_epoch_ > 0) snapshot.scheme = pack({common_state(), {}});
  }
  if (comm::Status status = broadcast_snapshot(communicator(), root, snapshot); !status) return status;
  SchemeState state = unpack(snapshot.scheme);
  resumed_ = std::move(state.workers);
  const bool has_own = resumed_.size() == static_cast<size_t>(group_->size());
  const bool own_weights = has_own && holdings().weights == Held::kLocal;
  if (own_weights) take_own_weights(snapshot);
  if ((!is_root && (is_behind || everybody)) || own_weights) {
    trainee.restore(snapshot);
    set_common_state(state.common);
  } else if (is_root && settled_epoch_ == 0) {
    set_common_state(state.common);
  }
  return {};
}

void GroupScheme::take_own_weights(Checkpoint& snapshot) {
  const std::vector<NamedTensor>& mine = resumed_[static_cast<size_t>(group_->rank())];
  std::vector<NamedTensor> weights = under_prefix(kOwnWeights, mine), optimizer = under_prefix(kOwnOptimizer, mine);
  if (weights.empty()) return;
  snapshot.weights = std::move(weights);
  snapshot.optimizer = std::move(optimizer);
}

std::optional<Checkpoint> GroupScheme::checkpoint(Trainee& trainee) {
  require(begin_checkpoint(trainee));
  std::vector<NamedTensor> mine = own_state();
  Checkpoint snapshot;
  const bool is_local = holdings().weights == Held::kLocal;
  if (leads() || is_local) snapshot = trainee.snapshot();
  if (is_local) add_own_weights(snapshot, mine);
  SchemeState state{common_state(), {}};
  comm::Status status = gather_tensors(communicator(), 0, mine, state.workers);
  if (status.ok() && is_local && leads()) average(state.workers, snapshot.weights);
  end_checkpoint(trainee);
  require(status);
  if (!leads()) return std::nullopt;
  snapshot.scheme = pack(state);
  return snapshot;
}

comm::Status GroupScheme::ask_for_checkpoint(const Trainee& trainee) {
  uint8_t missing = leads() && trainee.lacks_checkpoint() ? 1 : 0;
  comm::Status status = communicator().broadcast(&missing, sizeof missing, 0);
  checkpoint_missing_ = missing != 0;
  return status;
}

comm::Status GroupScheme::compare_layouts(Trainee& trainee) {
  std::vector<int64_t> fingerprints;
  comm::Status status = collect(communicator(), static_cast<int64_t>(layout_fingerprint(trainee)), fingerprints);
  if (!status) return status;
  for (size_t rank = 0; rank < fingerprints.size(); ++rank) {
    if (fingerprints[rank] == fingerprints[0]) continue;
    throw SharedError("the parameters of " + group_->names()[rank] + " (rank " + std::to_string(rank) +
                      ") lie in memory in another way than those of " + group_->names()[0] +
                      " (rank 0): all workers need CPUs of the same kind, the same model and the same options");
  }
  return {};
}

comm::Status GroupScheme::exchange_totals(StepTotals& totals) {
  double sums[] = {totals.loss, totals.samples, totals.stop ? 1.0 : 0.0, group_->newcomers_waiting() ? 1.0 : 0.0};
  comm::Status status = communicator().all_reduce(sums, std::size(sums), DType::kF64);
  if (!status) return status;
  totals = {sums[0], sums[1], sums[2] > 0, true};
  change_wanted_ = sums[3] > 0;
  return {};
}

void GroupScheme::report(const TrainState& state) {
  reported_ = state;
  pace_.add(state);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_report_) return;
  next_report_ = now + kReportInterval;
  send_report();
}

void GroupScheme::send_report() {
  if (!reported_) return;
  const TrainState& state = *reported_;
  const double waiting = state.data_wait_share + state.exchange_wait_share;
  const double step_seconds = state.batch > 0 ? state.epoch_seconds / static_cast<double>(state.batch) : 0;
  group_->set_status(nlohmann::json{
      {"step", state.progress.iteration},
      {"epoch", state.progress.epoch},
      {"loss", state.epoch_loss},
      {"samples_per_second", state.samples_per_second},
      {"data_wait", state.data_wait_share},
      {"exchange_wait", state.exchange_wait_share},
      {"compute_seconds", step_seconds * std::max(0.0, 1 - waiting)},
      {"pace",
       pace_.seconds()}}.dump());
}

void GroupScheme::abandon(const std::string& shared) {
  // Somebody may not have got all of the exchange that told of it before this worker leaves.
  if (!shared.empty()) group_->fail(shared);
  communicator().abort("this worker has left");
  release();
}

void GroupScheme::finish(Trainee& /*trainee*/) {
  if (!over_) {
    require(last_exchange());
    at_end_ = true;
    // What was exchanged last may not have arrived everywhere: nobody leaves before all are at the end.
    require(communicator().barrier());
  }
  release();
  // The last word: what was said before may be of some steps ago.
  send_report();
  group_->finish();
}

}  // namespace thalweg::sync
