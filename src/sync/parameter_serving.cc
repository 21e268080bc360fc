// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The server's half: what becomes of the messages that come.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "sync/compress/bits.h"
#include "sync/parameter_server.h"
#include "sync/state_transfer.h"
#include "train/gradient_sums.h"

namespace thalweg::sync {
namespace {

/// Of a worker that makes no more steps: nobody has to wait for it.
constexpr int64_t kEndless = int64_t{1} << 60U;

comm::Failure nonsense(int from, const std::string& what) { return {comm::FailureKind::kProtocol, from, what, 0}; }

/// Shares of a batch add up to 1 but for rounding, and a mean of all then is their sum.
double mean_scale(double weight) {
  constexpr double kRounding = 1e-9;
  return std::abs(weight - 1) < kRounding ? 1.0 : 1.0 / weight;
}

}  // namespace

comm::Status ParameterServer::handle(int from, uint64_t kind, std::span<const std::byte> contents) {
  switch (kind) {
    case kPush: return take_push(from, contents);
    case kReply: return take_reply(from, contents);
    case kNorm: return take_norm(from, contents);
    case kWantsState: return take_wish_for_state(from, contents);
    case kState: return take_state(from, contents);
    case kCopy: return take_copy(from, contents);
    case kCopied: return take_copied(from);
    default: return nonsense(from, "a message of unknown kind " + std::to_string(kind));
  }
}

void ParameterServer::is_done(int from) {
  const std::lock_guard<std::mutex> serving(serving_);
  clocks_[static_cast<size_t>(from)] = kEndless;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++progress_;
  }
  options_.in_steps ? advance() : reply_to_waiting();
}

void ParameterServer::read(Contribution& to, std::span<const std::byte> contents, int64_t& version) {
  to.clock = take_number<int64_t>(contents);
  version = take_number<int64_t>(contents);
  for (double* number : {&to.weight, &to.weighted_rate, &to.rate, &to.clip}) *number = take_number<double>(contents);
  const auto flags = take_number<uint64_t>(contents);
  to.bad = (flags & kIsBad) != 0;
  to.newcomers = (flags & kNewcomers) != 0;
  const auto bytes = take_number<uint64_t>(contents);
  TW_REQUIRE(bytes <= contents.size(), "gradients of ", bytes, " bytes are announced, there are ", contents.size());
  to.gradient.assign(part_.range().size(), 0.0F);
  if (!to.bad) options_.codes.decode_add(part_.number(), contents.subspan(0, bytes), to.gradient);
  contents = contents.subspan(bytes);
  to.rows.clear();
  for (const size_t table : tables_) to.rows.push_back(options_.sparse.take(table, contents));
  TW_REQUIRE(contents.empty(), contents.size(), " bytes too many");
}

comm::Status ParameterServer::take_push(int from, std::span<const std::byte> contents) {
  const std::lock_guard<std::mutex> serving(serving_);
  Contribution& push = contributions_[static_cast<size_t>(from)];
  int64_t version = 0;
  try {
    read(push, contents, version);
  } catch (const Error& error) {
    return nonsense(from, std::string("a push that cannot be read: ") + error.what());
  }
  int64_t& clock = clocks_[static_cast<size_t>(from)];
  if (push.here || push.clock <= clock || version > steps_served_) {
    return nonsense(from, "a push of step " + std::to_string(push.clock) + " after one of step " +
                              std::to_string(clock) + ", made of version " + std::to_string(version) + " of " +
                              std::to_string(steps_served_));
  }
  clock = push.clock;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++progress_;
  }
  if (!options_.in_steps) {
    apply(push);
    after_copies([this, from, clock] {
      waiting_[static_cast<size_t>(from)] = clock;
      reply(from, kAcknowledges);
      reply_to_waiting();
    });
  } else if (version < steps_served_) {
    ++dropped_;
    reply(from, kHasWeights | kAcknowledges);
  } else {
    push.here = true;
    advance();
  }
  return {};
}

void ParameterServer::apply(Contribution& push) {
  if (push.weight <= 0) return;
  // As one step with the mean of the gradients and a rate in proportion to the samples they stand for.
  const double scale = push.clip * mean_scale(push.weight);
  update(push.gradient, push.weighted_rate, scale);
  hand_rows(std::move(push.rows), push.weighted_rate, scale);
}

void ParameterServer::hand_rows(std::vector<SparseRows> rows, double rate, double scale) {
  if (rows.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  published_rows_.push_back({std::move(rows), rate, scale});
}

void ParameterServer::update(std::span<const float> gradient, double rate, double scale) {
  part_.update(gradient, rate, scale);
  if (copied_.empty()) return;
  ++copies_told_;
  Bytes copy = message(kCopy);
  put_number(copy, part_.updates());
  put_number(copy, good_steps_);
  put_number(copy, rate);
  put_number(copy, scale);
  const std::span<const std::byte> raw = std::as_bytes(gradient);
  copy.insert(copy.end(), raw.begin(), raw.end());
  for (const auto& [server, has] : copied_) tell(server, copy);
}

void ParameterServer::after_copies(std::function<void()> then) {
  after_copies_.emplace_back(copies_told_, std::move(then));
  run_after_copies();
}

void ParameterServer::run_after_copies() {
  int64_t all_have = copies_told_;
  for (const auto& [server, has] : copied_) all_have = std::min(all_have, has);
  while (!after_copies_.empty() && after_copies_.front().first <= all_have) {
    const std::function<void()> then = std::move(after_copies_.front().second);
    after_copies_.pop_front();
    then();
  }
}

comm::Status ParameterServer::take_copy(int from, std::span<const std::byte> contents) {
  const std::lock_guard<std::mutex> serving(serving_);
  const auto copy =
      std::find_if(copies_.begin(), copies_.end(), [&](const ServedPart& part) { return part.number() == from; });
  constexpr size_t kHeader = 2 * sizeof(int64_t) + 2 * sizeof(double);
  if (copy == copies_.end() || contents.size() != kHeader + copy->range().size() * sizeof(float)) {
    return nonsense(from, "an update of a part that is not copied here, or of another size");
  }
  const auto count = take_number<int64_t>(contents), step = take_number<int64_t>(contents);
  const auto rate = take_number<double>(contents), scale = take_number<double>(contents);
  std::vector<float> gradient(copy->range().size());
  std::memcpy(gradient.data(), contents.data(), contents.size());
  if (has_whole_steps()) copy->begin_step(step);
  copy->repeat(gradient, rate, scale, count);
  tell(from, message(kCopied));
  return {};
}

comm::Status ParameterServer::take_copied(int from) {
  const std::lock_guard<std::mutex> serving(serving_);
  const auto found = copied_.find(from);
  if (found == copied_.end() || found->second == copies_told_)
    return nonsense(from, "it has copied what it was not sent");
  ++found->second;
  run_after_copies();
  return {};
}

bool ParameterServer::step_is_ready() const {
  int here = 0, able = 0;
  for (size_t i = 0; i < contributions_.size(); ++i) {
    here += contributions_[i].here ? 1 : 0;
    able += contributions_[i].here || clocks_[i] != kEndless ? 1 : 0;
  }
  return here > 0 && here >= std::min(able, std::max(1, size() - options_.backup));
}

void ParameterServer::advance() {
  if (!summed_ && step_is_ready()) {
    add_up();
    summed_ = true;
    if (clip_norm_ > 0 && !sum_.bad) {
      double total = optim::norm_squared(sum_.gradient);
      // Every server has all rows.
      for (size_t i = 0; i < sum_.rows.size() && rank() == 0; ++i) {
        const SparseRows& rows = sum_.rows[i];
        const GradientView view{rows.variable,       nullptr,          0,
                                rows.indices.data(), rows.rows.data(), static_cast<int64_t>(rows.indices.size())};
        total += norm_squared(view, rows.row_size);
      }
      Bytes norm = message(kNorm);
      put_number(norm, steps_served_);
      put_number(norm, total);
      tell_all(norm);
    }
  }
  const bool waits_for_norms = clip_norm_ > 0 && !sum_.bad && norms_[steps_served_].size() < contributions_.size();
  if (summed_ && !waits_for_norms) finish_step();
}

void ParameterServer::add_up() {
  sum_ = {};
  sum_.rows.resize(tables_.size());
  // In order of rank, so that the same gradients give the same bits.
  for (Contribution& one : contributions_) {
    if (!one.here) continue;
    if (sum_.gradient.empty()) {
      sum_.gradient = one.gradient;
    } else {
#pragma omp simd
      for (size_t i = 0; i < one.gradient.size(); ++i) sum_.gradient[i] += one.gradient[i];
    }
    for (size_t i = 0; i < one.rows.size(); ++i) {
      SparseRows &to = sum_.rows[i], &from = one.rows[i];
      to.variable = from.variable;
      to.row_size = from.row_size;
      to.table_rows = from.table_rows;
      to.indices.insert(to.indices.end(), from.indices.begin(), from.indices.end());
      to.rows.insert(to.rows.end(), from.rows.begin(), from.rows.end());
    }
    sum_.weight += one.weight;
    sum_.rate = std::max(sum_.rate, one.rate);
    sum_.bad = sum_.bad || one.bad;
    sum_.newcomers = sum_.newcomers || one.newcomers;
  }
}

comm::Status ParameterServer::take_norm(int from, std::span<const std::byte> contents) {
  const std::lock_guard<std::mutex> serving(serving_);
  if (contents.size() != sizeof(int64_t) + sizeof(double)) return nonsense(from, "a norm that is none");
  const auto step = take_number<int64_t>(contents);
  norms_[step][from] = take_number<double>(contents);
  advance();
  return {};
}

void ParameterServer::finish_step() {
  if (!sum_.bad) ++good_steps_;
  if (!sum_.bad && sum_.weight > 0) {
    double scale = mean_scale(sum_.weight);
    if (clip_norm_ > 0) {
      double total = 0;
      for (const auto& [server, part] : norms_[steps_served_]) total += part;
      scale *= optim::norm_clip_scale(total * scale * scale, clip_norm_);
    }
    if (has_whole_steps()) part_.begin_step(good_steps_);
    update(sum_.gradient, sum_.rate, scale);
    hand_rows(std::move(sum_.rows), sum_.rate, scale);
  }
  norms_.erase(steps_served_);
  ++steps_served_;
  summed_ = false;
  const uint64_t flags = kHasWeights | kAcknowledges | (sum_.bad ? kIsBad : 0) | (sum_.newcomers ? kNewcomers : 0);
  for (int worker = 0; worker < size(); ++worker) {
    if (!std::exchange(contributions_[static_cast<size_t>(worker)].here, false)) continue;
    after_copies([this, worker, flags] { reply(worker, flags); });
  }
}

void ParameterServer::reply_to_waiting() {
  const int64_t slowest = *std::min_element(clocks_.begin(), clocks_.end());
  for (int worker = 0; worker < size(); ++worker) {
    std::optional<int64_t>& clock = waiting_[static_cast<size_t>(worker)];
    if (!clock || (options_.staleness != kUnbounded && slowest < *clock - options_.staleness)) continue;
    clock.reset();
    reply(worker, kHasWeights);
  }
}

void ParameterServer::reply(int to, uint64_t flags) {
  Bytes bytes = message(kReply);
  put_number(bytes, flags);
  put_number(bytes, steps_served_);
  for (const int64_t clock : clocks_) put_number(bytes, clock);
  if ((flags & kHasWeights) != 0 && !filters_.empty()) {
    filters_[static_cast<size_t>(to)].append(part_.weights(), bytes);
  } else if ((flags & kHasWeights) != 0) {
    const std::span<const std::byte> weights = std::as_bytes(std::span<const float>(part_.weights()));
    bytes.insert(bytes.end(), weights.begin(), weights.end());
  }
  tell(to, std::move(bytes));
}

comm::Status ParameterServer::take_reply(int from, std::span<const std::byte> contents) {
  const comm::Part range = comm::part_of(row_floats_, size(), from);
  const size_t header = (2 + clocks_.size()) * sizeof(int64_t);
  if (contents.size() < header) return nonsense(from, "a reply that ends early");
  const auto flags = take_number<uint64_t>(contents);
  const auto version = take_number<int64_t>(contents);
  std::vector<int64_t> clocks(clocks_.size());
  for (int64_t& clock : clocks) clock = take_number<int64_t>(contents);
  std::unique_lock<std::mutex> lock(mutex_);
  const std::span<float> weights = std::span(published_).subspan(range.begin, range.size());
  try {
    if ((flags & kHasWeights) != 0 && options_.filter > 0) {
      BlockFilter::apply(contents, weights);
    } else {
      const size_t bytes = (flags & kHasWeights) != 0 ? weights.size_bytes() : 0;
      TW_REQUIRE(contents.size() == bytes, "weights of ", contents.size(), " bytes in place of ", bytes);
      std::memcpy(weights.data(), contents.data(), bytes);
    }
  } catch (const Error& error) {
    return nonsense(from, error.what());
  }
  const auto server = static_cast<size_t>(from);
  if ((flags & kAcknowledges) != 0 && --unanswered_[server] < 0) return nonsense(from, "a reply to no push");
  if ((flags & kHasWeights) != 0) {
    seen_[server] = std::move(clocks);
    versions_[server] = version;
    fresh_ = true;
  }
  bad_step_ = bad_step_ || (flags & kIsBad) != 0;
  if ((flags & kNewcomers) != 0) admits_here_ = true;
  send_if_ready();
  // What nobody has applied was not left out.
  if (options_.in_steps && contained(rank()) >= steps_) settle_codes(!bad_step_);
  const std::optional<std::pair<int, int64_t>> wanted = state_wanted_;
  lock.unlock();
  if (wanted) send_state(wanted->first, wanted->second);
  return {};
}

Bytes ParameterServer::state_here() {
  Bytes bytes = message(kState);
  std::vector<float> slots;
  {
    const std::lock_guard<std::mutex> serving(serving_);
    slots = part_.slots();
  }
  put_number(bytes, static_cast<uint64_t>(slots.size()));
  const std::span<const std::byte> raw = std::as_bytes(std::span<const float>(slots));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<NamedTensor> kept = options_.sparse.state();
  if (Compressor* compressor = options_.codes.compressor(); compressor != nullptr) {
    for (NamedTensor& entry : compressor->state()) kept.push_back(std::move(entry));
  }
  const Bytes packed = pack_tensors(kept);
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  return bytes;
}

comm::Status ParameterServer::take_wish_for_state(int from, std::span<const std::byte> contents) {
  if (contents.size() != sizeof(int64_t)) return nonsense(from, "a wish for a state that says no step");
  send_state(from, take_number<int64_t>(contents));
  return {};
}

void ParameterServer::send_state(int to, int64_t steps) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (options_.in_steps && codes_open_ && steps_ <= steps) {
      state_wanted_ = {to, steps};
      return;
    }
    state_wanted_.reset();
  }
  tell(to, state_here());
}

comm::Status ParameterServer::take_state(int from, std::span<const std::byte> contents) {
  try {
    const auto floats = take_number<uint64_t>(contents);
    TW_REQUIRE(floats <= contents.size() / sizeof(float), "a state of ", floats, " numbers in ", contents.size(),
               " bytes");
    std::vector<float> slots(floats);
    std::memcpy(slots.data(), contents.data(), floats * sizeof(float));
    std::vector<NamedTensor> kept = unpack_tensors(contents.subspan(floats * sizeof(float)), from);
    const std::lock_guard<std::mutex> lock(mutex_);
    // Nobody has asked.
    if (states_here_ >= states_.size()) return {};
    states_[static_cast<size_t>(from)] = std::move(slots);
    kept_by_all_[static_cast<size_t>(from)] = std::move(kept);
    ++states_here_;
  } catch (const Error& error) {
    return nonsense(from, error.what());
  }
  return {};
}

}  // namespace thalweg::sync
