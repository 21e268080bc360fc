// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The worker's half: what it sends to the servers, and waits for.
#include "sync/parameter_server.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sync/compress/bits.h"
#include "sync/state_transfer.h"
#include "train/gradient_sums.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kChannel = 1;
constexpr size_t kOneBucket = std::numeric_limits<size_t>::max();
/// Pushes that a server has not answered yet. Further steps gather until it has.
constexpr int kMostUnanswered = 2;

}  // namespace

ParameterServer::ParameterServer(comm::Group& group, Trainee& trainee, const Options& options, Outbox unsent)
    : PeerTalk(group, kChannel),
      trainee_(trainee),
      options_(options),
      map_(trainee.trained(), kOneBucket),
      part_(trainee, map_, group.size(), group.rank()),
      dense_(dense_parameters(trainee)),
      clip_norm_(trainee.clip_norm()),
      contributions_(static_cast<size_t>(group.size())),
      clocks_(static_cast<size_t>(group.size())),
      waiting_(static_cast<size_t>(group.size())),
      outbox_(std::move(unsent)),
      unanswered_(static_cast<size_t>(group.size())),
      seen_(static_cast<size_t>(group.size()), std::vector<int64_t>(static_cast<size_t>(group.size()))),
      versions_(static_cast<size_t>(group.size())) {
  for (const std::span<float> values : map_.all()) row_floats_ += values.size();
  for (const SparseRows& rows : map_.sparse()) tables_.push_back(rows.variable);
  options_.codes.use(map_, trainee.variables(), group.size());
  options_.sparse.use(map_, trainee.variables());
  for (const Piece& piece : map_.pieces(1, 0)) {
    const std::span<float> values = weights_of(trainee, piece);
    published_.insert(published_.end(), values.begin(), values.end());
  }
  const int copies = std::min(options_.copies, size() - 1);
  for (int distance = 1; distance <= copies; ++distance) {
    copies_.emplace_back(trainee, map_, size(), (rank() - distance + size()) % size());
    copied_[(rank() + distance) % size()] = 0;
  }
  for (int worker = 0; worker < size() && options_.filter > 0; ++worker) {
    filters_.emplace_back(options_.filter, part_.weights());
  }
  begin();
}

ParameterServer::~ParameterServer() { stop(); }

ParameterServer::Remains ParameterServer::stop() {
  if (snapshot_) snapshot_.unlock();
  end();
  Remains remains;
  remains.place = {size(), rank(), static_cast<int>(copies_.size())};
  remains.updates = part_.updates();
  remains.codes_open = has_whole_steps() && std::exchange(codes_open_, false);
  // Where all step together, what some could not send belongs to a step that all have left behind.
  if (options_.in_steps) {
    outbox_.clear();
    settle_codes(false);
  }
  remains.unsent = std::move(outbox_);
  const auto keep = [&](const ServedPart& part) {
    remains.weights[part.number()].assign(part.weights().begin(), part.weights().end());
    if (has_whole_steps()) remains.histories[part.number()] = part.history();
  };
  keep(part_);
  for (const ServedPart& part : copies_) keep(part);
  return remains;
}

void ParameterServer::push(GradientBuckets& gradients, const std::map<size_t, Factors>& factors, double weight) {
  const std::lock_guard<std::mutex> lock(mutex_);
  outbox_.add(gradients, factors, weight, trainee_.learning_rate());
  ++steps_;
  code_step_ = {trainee_.iteration(), rank(), size()};
  send_if_ready();
}

void ParameterServer::push_bad() {
  const std::lock_guard<std::mutex> lock(mutex_);
  outbox_.filled = true;
  outbox_.bad = options_.in_steps;
  ++steps_;
  send_if_ready();
}

void ParameterServer::settle_codes(bool is_complete) {
  if (!std::exchange(codes_open_, false)) return;
  is_complete ? options_.sparse.commit() : options_.sparse.roll_back();
  Compressor* compressor = options_.codes.compressor();
  if (compressor == nullptr) return;
  is_complete ? compressor->commit() : compressor->roll_back();
}

double ParameterServer::own_clip_scale() const {
  if (clip_norm_ <= 0 || outbox_.weight <= 0 || options_.in_steps) return 1;
  double total = optim::norm_squared(outbox_.dense);
  for (const SparseRows& rows : outbox_.sparse) {
    const GradientView view{rows.variable,       nullptr,          0,
                            rows.indices.data(), rows.rows.data(), static_cast<int64_t>(rows.indices.size())};
    total += norm_squared(view, rows.row_size);
  }
  for (const auto& [variable, factors] : outbox_.factors) total += factors.norm_squared();
  return optim::norm_clip_scale(total / (outbox_.weight * outbox_.weight), clip_norm_);
}

void ParameterServer::send_if_ready() {
  const int unanswered = *std::max_element(unanswered_.begin(), unanswered_.end());
  if (!outbox_.filled) {
    // A server that has failed answers no more, and its worker is not done.
    if (done_asked_ && unanswered == 0 && !std::exchange(done_told_, true)) tell_done();
    return;
  }
  if (unanswered >= kMostUnanswered) return;
  outbox_.dense.resize(row_floats_);
  outbox_.sparse.resize(tables_.size());
  const double clip = own_clip_scale();
  settle_codes(true);
  codes_open_ = true;
  for (auto& [variable, factors] : outbox_.factors) {
    options_.factors->give(trainee_.variables().name(variable), std::move(factors));
  }
  options_.codes.encode(outbox_.dense, code_step_);
  for (size_t i = 0; i < tables_.size(); ++i) {
    SparseRows& rows = outbox_.sparse[i];
    rows.variable = tables_[i];
    rows.row_size = map_.sparse()[i].row_size;
    rows.table_rows = map_.sparse()[i].table_rows;
    options_.sparse.begin(rows);
  }
  for (int server = 0; server < size(); ++server) {
    Bytes push = message(kPush);
    put_number(push, steps_);
    put_number(push, versions_[static_cast<size_t>(server)]);
    for (const double number : {outbox_.weight, outbox_.weighted_rate, outbox_.rate, clip}) put_number(push, number);
    put_number(push, (outbox_.bad ? kIsBad : 0) | (group().newcomers_waiting() ? kNewcomers : 0));
    const size_t at = push.size();
    put_number(push, uint64_t{0});
    if (!outbox_.bad) options_.codes.append(server, push);
    const uint64_t bytes = push.size() - at - sizeof(uint64_t);
    std::memcpy(push.data() + at, &bytes, sizeof bytes);
    for (const SparseRows& rows : outbox_.sparse) options_.sparse.put(rows, push);
    ++unanswered_[static_cast<size_t>(server)];
    tell(server, std::move(push));
  }
  outbox_.clear();
  if (!options_.in_steps) settle_codes(true);
}

void ParameterServer::look_for_newcomers() {
  if (!options_.in_steps || options_.backup > 0) PeerTalk::look_for_newcomers();
}

bool ParameterServer::take_bad() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(bad_step_, false);
}

int64_t ParameterServer::contained(int rank) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& clocks : seen_) least = std::min(least, clocks[static_cast<size_t>(rank)]);
  return least;
}

int64_t ParameterServer::slowest() const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int worker = 0; worker < size(); ++worker) least = std::min(least, contained(worker));
  return least;
}

int ParameterServer::furthest_behind() const {
  int found = rank();
  for (int worker = 0; worker < size(); ++worker) {
    // That its own steps have not come back is because of others, too.
    if (worker == rank() || done(worker)) continue;
    if (found == rank() || contained(worker) < contained(found)) found = worker;
  }
  return found;
}

comm::Status ParameterServer::what_became(bool of_step) const {
  if (!options_.in_steps) return failure_so_far();
  // All servers have made the update: who took that for a failure would make the step again, with codes and an
  // optimiser that have it behind them. What has failed since is found by the next step.
  return of_step ? comm::Status() : end_of_epoch();
}

comm::Status ParameterServer::wait_for_others(int64_t staleness, std::chrono::duration<double> longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto holds = [&] { return slowest() >= steps_ - staleness; };
  if (wait(lock, longest, holds)) return what_became(holds());
  return late(furthest_behind(), "is " + std::to_string(steps_ - slowest()) + " steps behind", longest);
}

comm::Status ParameterServer::wait_for_own(std::chrono::duration<double> longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto holds = [&] { return contained(rank()) >= steps_; };
  if (wait(lock, longest, holds)) return what_became(holds());
  const auto silent = std::max_element(unanswered_.begin(), unanswered_.end()) - unanswered_.begin();
  return late(static_cast<int>(silent), "has not answered with the parameters that it serves", longest);
}

void ParameterServer::pull(Trainee& trainee) {
  std::deque<RowsOfUpdate> updates;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    updates.swap(published_rows_);
    if (std::exchange(fresh_, false)) {
      const float* next = published_.data();
      for (const Piece& piece : map_.pieces(1, 0)) {
        std::copy_n(next, piece.gradient.size(), weights_of(trainee, piece).begin());
        next += piece.gradient.size();
      }
    }
  }
  optim::Optimizer& updater = trainee.updater();
  for (const RowsOfUpdate& update : updates) {
    updater.begin_step(update.rate);
    updater.set_gradient_scale(update.scale);
    for (const SparseRows& rows : update.rows) {
      const std::span<float> table(static_cast<float*>(trainee.variables().data(rows.variable)),
                                   trainee.variables().layout(rows.variable).bytes() / sizeof(float));
      updater.update_rows(trainee.updater_index(rows.variable), table, rows.row_size, rows.indices, rows.rows);
    }
  }
  updater.set_gradient_scale(1.0);
}

comm::Status ParameterServer::finish(std::chrono::duration<double> longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_asked_ = true;
  send_if_ready();
  // Servers go on answering, and members give signs of life, while the thread that trains hangs.
  while (!over()) {
    const int64_t before = progress_;
    if (!wait(lock, longest, [&] { return progress_ != before; })) {
      return late(furthest_behind(), "is alive but takes no more steps, and those who are done have waited for it",
                  longest);
    }
  }
  return end_of_epoch();
}

comm::Status ParameterServer::collect(Trainee& trainee) {
  comm::Communicator& communicator = group().communicator();
  std::vector<float> row(row_floats_);
  std::copy(part_.weights().begin(), part_.weights().end(), row.begin() + static_cast<int64_t>(part_.range().begin));
  if (comm::Status status = communicator.all_gather(row.data(), row.size(), DType::kF32); !status) return status;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    published_ = std::move(row);
    fresh_ = true;
  }
  pull(trainee);
  // Rows of different workers may have come in another order elsewhere.
  for (const size_t table : tables_) {
    comm::Status status =
        communicator.broadcast(trainee.variables().data(table), trainee.variables().layout(table).bytes(), 0);
    if (!status) return status;
    for (const optim::Slot& slot : trainee.updater().slots(trainee.updater_index(table))) {
      if (status = communicator.broadcast(slot.values.data(), slot.values.size_bytes(), 0); !status) return status;
    }
  }
  return collect_state(communicator, trainee.updater(), dense_, map_, own_parts(size()), true);
}

comm::Status ParameterServer::begin_snapshot(std::chrono::duration<double> longest) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (over()) return end_of_epoch();
    states_.assign(static_cast<size_t>(size()), {});
    kept_by_all_.assign(static_cast<size_t>(size()), {});
    states_here_ = 0;
  }
  Bytes wish = message(kWantsState);
  put_number(wish, steps_);
  tell_all(wish);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto all_here = [&] { return states_here_ == states_.size(); };
  if (!wait(lock, longest, all_here)) {
    return comm::Failure{comm::FailureKind::kTimeout, -1, "not all servers have told their state", longest.count()};
  }
  if (!all_here()) return end_of_epoch();
  lock.unlock();
  snapshot_ = std::unique_lock<std::mutex>(serving_);
  for (int server = 0; server < size(); ++server) {
    const auto is_copied_here = [&](const ServedPart& part) { return part.number() == server; };
    if (server == rank() || std::any_of(copies_.begin(), copies_.end(), is_copied_here)) continue;
    ServedPart theirs(trainee_, map_, size(), server);
    const std::vector<float>& slots = states_[static_cast<size_t>(server)];
    if (slots.size() != theirs.num_slot_floats()) {
      return comm::Failure{comm::FailureKind::kProtocol, server,
                           "it told " + std::to_string(slots.size()) + " numbers of the optimiser's state, not " +
                               std::to_string(theirs.num_slot_floats()),
                           0};
    }
    theirs.set_slots(slots);
  }
  return {};
}

void ParameterServer::end_snapshot() {
  if (snapshot_) snapshot_.unlock();
}

}  // namespace thalweg::sync
