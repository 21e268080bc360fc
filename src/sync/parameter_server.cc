// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/parameter_server.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/deadline.h"
#include "sync/state_transfer.h"
#include "train/gradient_sums.h"

namespace thalweg::sync {
namespace {

/// How long a server with nothing to bring waits before it asks whether others have something.
constexpr std::chrono::milliseconds kIdle{2};
constexpr size_t kOneBucket = std::numeric_limits<size_t>::max();
/// Of a worker that makes no more steps: nobody has to wait for it.
constexpr double kEndless = 1e15;
/// Short enough for a string without memory of its own, of which there may be none left.
constexpr const char* kFailed = "worker failed";

}  // namespace

void Outbox::add(GradientBuckets& gradients, double step_weight, double learning_rate) {
  gradients.take_complete(true);
  for (const std::span<float> values : gradients.all()) {
    dense.resize(values.size());
#pragma omp simd
    for (size_t i = 0; i < values.size(); ++i) dense[i] += values[i];
  }
  sparse.resize(gradients.sparse().size());
  for (size_t i = 0; i < sparse.size(); ++i) {
    const SparseRows& rows = gradients.sparse()[i];
    sparse[i].variable = rows.variable;
    sparse[i].row_size = rows.row_size;
    sparse[i].table_rows = rows.table_rows;
    sparse[i].indices.insert(sparse[i].indices.end(), rows.indices.begin(), rows.indices.end());
    sparse[i].rows.insert(sparse[i].rows.end(), rows.rows.begin(), rows.rows.end());
  }
  weight += step_weight;
  weighted_rate += step_weight * learning_rate;
  filled = true;
}

void Outbox::clear() {
  std::fill(dense.begin(), dense.end(), 0.0F);
  for (SparseRows& rows : sparse) {
    rows.indices.clear();
    rows.rows.clear();
  }
  weight = weighted_rate = 0;
  filled = bad = false;
}

ParameterServer::ParameterServer(comm::Group& group, Trainee& trainee, const Options& options, Outbox unsent)
    : group_(group),
      communicator_(group.communicator()),
      trainee_(trainee),
      waits_for_all_(options.waits_for_all),
      map_(trainee.trained(), kOneBucket),
      place_{group.size(), group.rank(), 0},
      served_(map_.pieces(place_.parts, place_.own)),
      dense_(dense_parameters(trainee)),
      gradient_exchange_(options.dense),
      sparse_exchange_(options.sparse),
      outbox_(std::move(unsent)),
      contained_(static_cast<size_t>(group.size())) {
  for (const Piece& piece : served_) served_updaters_.push_back(trainee.updater_index(piece.variable));
  for (const std::span<float> values : map_.all()) flat_ = values;
  gradient_exchange_.use(map_, trainee.variables());
  sparse_exchange_.use(map_, trainee.variables());
  weights_.reserve(flat_.size());
  for (const Piece& piece : map_.pieces(1, 0)) {
    const std::span<float> values = weights_of(trainee, piece);
    weights_.insert(weights_.end(), values.begin(), values.end());
  }
  published_ = weights_;
  thread_ = std::thread([this] { serve(); });
}

ParameterServer::~ParameterServer() { stop(); }

Outbox ParameterServer::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return std::move(outbox_);
}

void ParameterServer::push(GradientBuckets& gradients, double weight) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    outbox_.add(gradients, weight, trainee_.learning_rate());
    ++steps_;
  }
  changed_.notify_all();
}

void ParameterServer::push_bad() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    outbox_.filled = outbox_.bad = true;
    ++steps_;
  }
  changed_.notify_all();
}

bool ParameterServer::take_bad() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(bad_round_, false);
}

comm::Status ParameterServer::wait_for_others(int64_t staleness, std::chrono::duration<double> longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto slowest = [&] { return *std::min_element(contained_.begin(), contained_.end()); };
  const bool in_time = changed_.wait_for(lock, longest, [&] { return over_ || slowest() >= steps_ - staleness; });
  if (in_time) return failure_so_far();
  return late("is " + std::to_string(steps_ - slowest()) + " steps behind", longest);
}

comm::Status ParameterServer::wait_for_own(std::chrono::duration<double> longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int64_t& own = contained_[static_cast<size_t>(place_.own)];
  if (changed_.wait_for(lock, longest, [&] { return over_ || own >= steps_; })) return failure_so_far();
  return late("has kept a round waiting", longest);
}

comm::Failure ParameterServer::late(const std::string& what, std::chrono::duration<double> waited) const {
  std::vector<int64_t> steps = contained_;
  // That its own have not gone out is because of others, too.
  if (steps.size() > 1) steps[static_cast<size_t>(place_.own)] = std::numeric_limits<int64_t>::max();
  const auto rank = std::min_element(steps.begin(), steps.end()) - steps.begin();
  return {comm::FailureKind::kTimeout, static_cast<int>(rank), group_.names()[static_cast<size_t>(rank)] + " " + what,
          waited.count()};
}

void ParameterServer::pull(Trainee& trainee) {
  std::vector<RowsOfRound> rounds;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(fresh_, false)) return;
    for (const Piece& piece : map_.pieces(1, 0)) {
      const float* from = published_.data() + (piece.gradient.data() - flat_.data());
      std::copy_n(from, piece.gradient.size(), weights_of(trainee, piece).begin());
    }
    rounds.swap(published_rows_);
  }
  optim::Optimizer& updater = trainee.updater();
  for (const RowsOfRound& round : rounds) {
    updater.begin_step(round.rate);
    updater.set_gradient_scale(round.scale);
    for (const SparseRows& rows : round.rows) {
      const std::span<float> table(static_cast<float*>(trainee.variables().data(rows.variable)),
                                   trainee.variables().layout(rows.variable).bytes() / sizeof(float));
      updater.update_rows(trainee.updater_index(rows.variable), table, rows.row_size, rows.indices, rows.rows);
    }
  }
  updater.set_gradient_scale(1.0);
}

comm::Status ParameterServer::finish(std::chrono::duration<double> longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_ = true;
  changed_.notify_all();
  // Servers go on with their rounds, and members with their signs of life, while the thread that trains hangs.
  while (!over_) {
    const std::vector<int64_t> before = contained_;
    if (!changed_.wait_for(lock, longest, [&] { return over_ || contained_ != before; })) {
      return late("is alive but takes no more steps, and those who are done have waited for it", longest);
    }
  }
  return end_of_epoch();
}

comm::Status ParameterServer::end_of_epoch() const {
  comm::Status status = failure_so_far();
  if (status.ok() && admits_) return comm::Failure{comm::FailureKind::kGroupChanged, -1, "a worker is admitted", 0};
  return status;
}

comm::Status ParameterServer::failure_so_far() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
  return failure_;
}

void ParameterServer::ask_to_stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  asks_to_stop_ = true;
}

comm::Status ParameterServer::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_so_far();
}

comm::Status ParameterServer::begin_snapshot() {
  std::unique_lock<std::mutex> lock(mutex_);
  snapshot_wanted_ = true;
  changed_.notify_all();
  // Rounds have deadlines of their own.
  changed_.wait(lock, [&] { return over_ || snapshot_ready_; });
  return snapshot_ready_ ? comm::Status() : end_of_epoch();
}

void ParameterServer::end_snapshot() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshot_wanted_ = snapshot_ready_ = false;
  }
  changed_.notify_all();
}

void ParameterServer::serve() {
  comm::Status status;
  std::exception_ptr error;
  try {
    for (bool last = false; status.ok() && !last && !abandoned_;) status = round(last);
  } catch (...) {
    error = std::current_exception();
    communicator_.abort(kFailed);
  }
  settle_codes(false);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = status;
    error_ = error;
    over_ = true;
    // What has not arrived is for the next epoch.
    if (outgoing_.filled) std::swap(outbox_, outgoing_);
  }
  changed_.notify_all();
}

ParameterServer::Header ParameterServer::begin_round() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, kIdle, [&] { return abandoned_ || outbox_.filled || outgoing_.filled || snapshot_wanted_; });
  if (!outgoing_.filled && outbox_.filled) {
    std::swap(outbox_, outgoing_);
    outgoing_steps_ = steps_;
  }
  Header mine;
  mine.filled = outgoing_.filled ? 1 : 0;
  mine.bad = outgoing_.bad ? 1 : 0;
  mine.weight = outgoing_.weight;
  mine.weighted_rate = outgoing_.weighted_rate;
  mine.done = done_ && !outgoing_.filled && !outbox_.filled ? 1 : 0;
  mine.steps = mine.done > 0 ? kEndless : static_cast<double>(outgoing_steps_);
  mine.stop = asks_to_stop_ ? 1 : 0;
  mine.newcomers = group_.newcomers_waiting() ? 1 : 0;
  mine.snapshot = snapshot_wanted_ ? 1 : 0;
  return mine;
}

comm::Status ParameterServer::round(bool& last) {
  constexpr size_t kFields = sizeof(Header) / sizeof(double);
  std::vector<Header> headers(static_cast<size_t>(place_.parts));
  headers[static_cast<size_t>(place_.own)] = begin_round();
  comm::Status status = communicator_.all_gather(headers.data(), headers.size() * kFields, DType::kF64);
  if (!status) return status;
  Header sum;
  for (const Header& one : headers) {
    sum.filled += one.filled;
    sum.weight += one.weight;
    sum.weighted_rate += one.weighted_rate;
    sum.bad += one.bad;
    sum.done += one.done;
    sum.stop += one.stop;
    sum.newcomers += one.newcomers;
    sum.snapshot += one.snapshot;
  }
  const bool exchanges = sum.filled > 0 && (!waits_for_all_ || sum.filled + sum.done == place_.parts);
  const bool bad = waits_for_all_ && sum.bad > 0;
  if (exchanges && !bad) status = exchange(sum);
  if (status.ok()) settle_codes(true);
  if (status.ok()) publish(headers, exchanges, bad);
  if (status.ok() && sum.snapshot > 0) status = take_part_in_snapshot();
  if (sum.stop > 0) stop_asked_ = true;
  admits_ = sum.newcomers > 0;
  last = sum.newcomers > 0 || sum.done == place_.parts;
  return status;
}

comm::Status ParameterServer::exchange(const Header& sum) {
  outgoing_.dense.resize(flat_.size());
  std::copy(outgoing_.dense.begin(), outgoing_.dense.end(), flat_.begin());
  gradient_exchange_.begin_step({rounds_++, place_.own, place_.parts});
  gradient_exchange_.begin(flat_);
  comm::Status status = gradient_exchange_.reduce_scatter(communicator_, flat_);
  gathered_ = {};
  for (size_t i = 0; i < map_.sparse().size() && status.ok(); ++i) {
    // Those of the map have no rows.
    gathered_.rows.push_back(i < outgoing_.sparse.size() ? outgoing_.sparse[i] : map_.sparse()[i]);
    sparse_exchange_.begin(gathered_.rows.back());
    status = sparse_exchange_.gather(communicator_, gathered_.rows.back());
  }
  if (!status) return status;
  if (sum.weight > 0) {
    // As one step with the mean of the gradients and a rate in proportion to the samples they stand for.
    double scale = 1.0 / sum.weight;
    if (trainee_.clip_norm() > 0) status = clip(scale);
    if (!status) return status;
    update(sum.weighted_rate, scale);
    gathered_.rate = sum.weighted_rate;
    gathered_.scale = scale;
  }
  return communicator_.all_gather(weights_.data(), weights_.size(), DType::kF32);
}

void ParameterServer::settle_codes(bool is_complete) {
  is_complete ? sparse_exchange_.commit() : sparse_exchange_.roll_back();
  Compressor* compressor = gradient_exchange_.compressor();
  if (compressor == nullptr) return;
  is_complete ? compressor->commit() : compressor->roll_back();
}

comm::Status ParameterServer::clip(double& scale) {
  double total = 0;
  for (const Piece& piece : served_) total += optim::norm_squared(piece.gradient);
  for (const SparseRows& rows : gathered_.rows) {
    const GradientView view{rows.variable,       nullptr,          0,
                            rows.indices.data(), rows.rows.data(), static_cast<int64_t>(rows.indices.size())};
    if (place_.own == 0) total += norm_squared(view, rows.row_size);
  }
  comm::Status status = communicator_.all_reduce(&total, 1, DType::kF64);
  scale *= optim::norm_clip_scale(total * scale * scale, trainee_.clip_norm());
  return status;
}

void ParameterServer::update(double rate, double scale) {
  optim::Optimizer& updater = trainee_.updater();
  for (const DenseParameter& parameter : dense_) {
    updater.set_updates(parameter.updater_index, updater.updates(parameter.updater_index) + 1);
  }
  for (size_t i = 0; i < served_.size(); ++i) {
    const Piece& piece = served_[i];
    const auto at = static_cast<size_t>(piece.gradient.data() - flat_.data());
    updater.update_part(served_updaters_[i], piece.begin, {weights_.data() + at, piece.gradient.size()}, piece.gradient,
                        {rate, scale});
  }
}

void ParameterServer::publish(const std::vector<Header>& headers, bool exchanged, bool bad) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < headers.size(); ++i) {
      const bool contained = exchanged || headers[i].done > 0;
      if (contained) contained_[i] = static_cast<int64_t>(headers[i].steps);
    }
    bad_round_ = bad_round_ || (exchanged && bad);
    if (exchanged && !bad) {
      published_ = weights_;
      if (gathered_.rate > 0 && !gathered_.rows.empty()) published_rows_.push_back(std::move(gathered_));
      fresh_ = true;
    }
    if (exchanged) outgoing_.clear();
  }
  changed_.notify_all();
}

comm::Status ParameterServer::take_part_in_snapshot() {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool takes = snapshot_wanted_;
  lock.unlock();
  comm::Status status = collect_state(communicator_, trainee_.updater(), dense_, map_, own_parts(place_.parts), takes);
  if (!status) return status;
  std::vector<NamedTensor> mine = sparse_exchange_.state();
  if (Compressor* compressor = gradient_exchange_.compressor(); compressor != nullptr) {
    for (NamedTensor& entry : compressor->state()) mine.push_back(std::move(entry));
  }
  // Only the worker that leads takes snapshots.
  status = gather_tensors(communicator_, 0, mine, kept_by_all_);
  if (!status || !takes) return status;
  lock.lock();
  snapshot_ready_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return abandoned_ || !snapshot_wanted_; });
  return {};
}

}  // namespace thalweg::sync
