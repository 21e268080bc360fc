// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Weights travel: every worker trains by itself at its own pace, and a rule moves weights by messages.
#include <algorithm>
#include <optional>

#include "sync/compress/bits.h"
#include "sync/group_scheme.h"
#include "sync/parts.h"
#include "sync/peer_rule.h"
#include "sync/peer_talk.h"
#include "sync/state_transfer.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kChannel = 2;

/// Brings messages to a rule, and the states of all to the worker that writes a checkpoint.
class FreeTalk : public PeerTalk {
 public:
  FreeTalk(comm::Group& group, PeerRule& rule) : PeerTalk(group, kChannel), rule_(rule) {}
  ~FreeTalk() override { end(); }
  using PeerTalk::begin;

  void send(int peer, const Bytes& contents) {
    Bytes bytes = message(kOfRule);
    bytes.insert(bytes.end(), contents.begin(), contents.end());
    tell(peer, std::move(bytes));
  }

  void send_state(int to, int64_t step, const std::vector<NamedTensor>& state) {
    Bytes bytes = message(kState);
    put_number(bytes, step);
    const Bytes packed = pack_tensors(state);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    tell(to, std::move(bytes));
  }

  /// The first of the others of which there is no state of this step and which may still send one; -1: none.
  int lacks_state(int64_t step) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int worker = 0; worker < size(); ++worker) {
      if (worker != rank() && states_[worker].count(step) == 0 && !done(worker)) return worker;
    }
    return -1;
  }

  /// Those of all others, of this step, or the last ones of workers that are done; `all` is by rank. It becomes empty
  /// if one that is done has sent none.
  void take_states(int64_t step, std::vector<std::vector<NamedTensor>>& all) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int worker = 0; worker < size(); ++worker) {
      if (worker == rank()) continue;
      auto& theirs = states_[worker];
      if (theirs.empty()) {
        all.clear();
        return;
      }
      const auto found = theirs.count(step) > 0 ? theirs.find(step) : std::prev(theirs.end());
      all[static_cast<size_t>(worker)] = std::move(found->second);
      theirs.erase(theirs.begin(), std::next(found));
    }
  }

  /// Grows with every message, and whenever a worker is done.
  int64_t heard() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_;
  }
  /// Until somebody has said more than that, or the epoch is over; false if nobody has for so long.
  bool wait_for_words(std::chrono::duration<double> longest, int64_t heard) {
    std::unique_lock<std::mutex> lock(mutex_);
    return wait(lock, longest, [&] { return heard_ != heard; });
  }

  comm::Status end_status() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return end_of_epoch();
  }
  bool is_over() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return over();
  }
  comm::Failure nobody_talks(std::chrono::duration<double> waited) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int worker = 0; worker < size(); ++worker) {
      if (worker == rank() || done(worker)) continue;
      return late(worker, "is alive but takes no more steps, and those who are done have waited for it", waited);
    }
    return {comm::FailureKind::kTimeout, -1, "nobody has said anything", waited.count()};
  }
  using PeerTalk::tell_done;
  /// So that those who are done know that this worker is not stuck.
  void tell_pace() { tell_all(message(kPace)); }

 private:
  static constexpr uint64_t kOfRule = kFirstKind, kState = kFirstKind + 1, kPace = kFirstKind + 2;

  comm::Status handle(int from, uint64_t kind, std::span<const std::byte> contents) override {
    comm::Status status;
    if (kind == kState) {
      status = take_state(from, contents);
    } else if (kind == kOfRule) {
      status = rule_.handle(from, contents);
    } else if (kind != kPace) {
      return comm::Failure{comm::FailureKind::kProtocol, from, "a message of unknown kind " + std::to_string(kind), 0};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++heard_;
    return status;
  }
  void is_done(int /*from*/) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++heard_;
  }

  comm::Status take_state(int from, std::span<const std::byte> contents) {
    try {
      const auto step = take_number<int64_t>(contents);
      std::vector<NamedTensor> state = unpack_tensors(contents, from);
      const std::lock_guard<std::mutex> lock(mutex_);
      states_[from][step] = std::move(state);
    } catch (const Error& error) {
      return comm::Failure{comm::FailureKind::kProtocol, from, error.what(), 0};
    }
    return {};
  }

  PeerRule& rule_;
  /// By worker and step.
  std::map<int, std::map<int64_t, std::vector<NamedTensor>>> states_;
  int64_t heard_ = 0;
};

class FreeWeights : public GroupScheme {
 public:
  FreeWeights(std::shared_ptr<comm::Group> group, const SchemeOptions& options, std::chrono::duration<double> patience,
              std::unique_ptr<PeerRule> rule)
      : GroupScheme(std::move(group), options), patience_(patience), rule_(std::move(rule)) {}

  GradientPath gradient_path() const override { return GradientPath::kOwnUpdate; }

  Update exchange(StepTotals& totals) override {
    note(talk_->failure());
    if (totals.stop) talk_->ask_to_stop();
    totals.stop = talk_->stop_asked();
    return {};
  }

  bool after_update() override {
    const int64_t step = trainee_->iteration() + 1;
    if (rule_->wants(step)) {
      flat_->read(now_);
      rule_->act(step, now_);
      flat_->write(now_);
    }
    tell_pace();
    talk_->look_for_newcomers();
    if (talk_->admits()) want_change();
    return false;
  }

  /// By each worker's own count of steps: those that do not lead send what they have and go on.
  std::optional<Checkpoint> checkpoint(Trainee& trainee) override {
    // What this worker has asked others for belongs to its state, and is there soon.
    require(settle());
    SchemeState state;
    state.workers.resize(static_cast<size_t>(group().size()));
    if (leads()) require(collect(trainee.iteration(), state.workers));
    if (state.workers.empty()) return std::nullopt;
    Checkpoint snapshot = trainee.snapshot();
    std::vector<NamedTensor> mine = rule_->own_state(*flat_);
    add_own_weights(snapshot, mine);
    if (!leads()) {
      talk_->send_state(0, trainee.iteration(), mine);
      return std::nullopt;
    }
    state.workers[0] = std::move(mine);
    average(state.workers, snapshot.weights);
    state.common = rule_->common_state(*flat_, state.workers);
    snapshot.scheme = pack(state);
    return snapshot;
  }

 protected:
  Holdings holdings() const override { return {Held::kLocal, Held::kLocal}; }
  bool goes_at_own_pace() const override { return true; }

  void prepare(Trainee& trainee) override {
    rule_->check(trainee);
    trainee_ = &trainee;
    flat_.emplace(trainee);
  }

  void set_common_state(const std::vector<NamedTensor>& state) override { given_ = state; }
  void set_own_state(const std::vector<std::vector<NamedTensor>>& states) override {
    if (states.size() == 1) given_own_ = states[0];
  }

  void begin(Trainee& /*trainee*/) override {
    talk_.emplace(group(), *rule_);
    flat_->read(now_);
    const PeerLine line{group().rank(), group().size(),
                        [this](int peer, Bytes contents) { talk_->send(peer, contents); }};
    rule_->prepare(line, *flat_, now_, given_, given_own_);
    given_.clear();
    given_own_.clear();
    talk_->begin();
  }
  void release() override { talk_.reset(); }

  comm::Status complete_state(Trainee& trainee, int64_t /*target*/, bool counts) override {
    const FlatWeights flat(trainee);
    std::vector<float> weights;
    flat.read(weights);
    return rule_->recover(communicator(), weights, counts);
  }

  comm::Status last_exchange() override {
    if (comm::Status status = settle(); !status) return status;
    talk_->tell_done();
    // Others may still want something of this worker.
    for (int64_t heard = talk_->heard(); !talk_->is_over(); heard = talk_->heard()) {
      act_outside_step();
      if (!talk_->wait_for_words(patience_, heard)) return talk_->nobody_talks(patience_);
    }
    if (comm::Status status = talk_->end_status(); !status) return status;
    act_outside_step();
    const auto lock = trainee_->lock_weights();
    flat_->read(now_);
    comm::Status status = rule_->end(communicator(), now_);
    if (status.ok()) flat_->write(now_);
    return status;
  }

 private:
  /// Until nothing that this worker has asked for is under way.
  comm::Status settle() {
    for (int64_t heard = talk_->heard();; heard = talk_->heard()) {
      act_outside_step();
      if (!rule_->expects()) return {};
      if (!talk_->wait_for_words(patience_, heard)) return talk_->nobody_talks(patience_);
      if (talk_->is_over() && rule_->expects() && !rule_->wants(0)) return talk_->end_status();
    }
  }

  /// The states of all others, which this worker answers meanwhile.
  comm::Status collect(int64_t step, std::vector<std::vector<NamedTensor>>& all) {
    while (talk_->lacks_state(step) >= 0) {
      act_outside_step();
      const int64_t heard = talk_->heard();
      if (talk_->lacks_state(step) < 0 || rule_->wants(0)) continue;
      if (!talk_->wait_for_words(patience_, heard)) return talk_->nobody_talks(patience_);
      if (talk_->is_over() && talk_->lacks_state(step) >= 0) return talk_->end_status();
    }
    talk_->take_states(step, all);
    return {};
  }

  void act_outside_step() {
    if (!rule_->wants(0)) return;
    const auto lock = trainee_->lock_weights();
    flat_->read(now_);
    rule_->act(0, now_);
    flat_->write(now_);
  }

  void tell_pace() {
    const auto now = std::chrono::steady_clock::now();
    // Often enough for those who are done, and wait for others as long as they make steps.
    const auto pause = std::min<std::chrono::duration<double>>(patience_ / 4, std::chrono::seconds(1));
    if (now - told_ < pause) return;
    told_ = now;
    talk_->tell_pace();
  }

  std::chrono::duration<double> patience_;
  std::unique_ptr<PeerRule> rule_;
  Trainee* trainee_ = nullptr;
  std::optional<FlatWeights> flat_;
  std::vector<float> now_;
  std::vector<NamedTensor> given_, given_own_;
  std::chrono::steady_clock::time_point told_;
  std::optional<FreeTalk> talk_;
};

const PeerRuleInfo& rule_of(const Composition& parts) {
  TW_REQUIRE(parts.rule != nullptr && parts.topology == nullptr && parts.place == nullptr,
             "a scheme in which weights travel by messages consists of a rule for them, and of nothing else");
  return Registry<PeerRuleInfo>::find(parts.rule, "rule by which messages move weights");
}

Axes describe_free(const Composition& parts, const PartOptions& /*defaults*/) {
  const PeerRuleInfo& rule = rule_of(parts);
  Axes axes;
  axes.optimisation = Optimisation::kDecentral;
  axes.schedule = Schedule::kAsynchronous;
  axes.exchange = rule.exchange;
  axes.options = rule.options;
  axes.options.push_back({"patience", 600, 1e-3, kMany, false,
                          "seconds that a worker that is done waits for a word of those that are not"});
  return axes;
}

std::shared_ptr<Scheme> make_free(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                  std::shared_ptr<comm::Group> group) {
  return std::make_shared<FreeWeights>(std::move(group), options, std::chrono::duration<double>(values.at("patience")),
                                       rule_of(parts).make(values));
}

const RegisterSchemeKind kFree({"free weights", describe_free, make_free});

}  // namespace

}  // namespace thalweg::sync
