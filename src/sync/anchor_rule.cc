// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// MPCA-SGD (Langer et al., 2018), from what the review says of it: workers train against their loss and a penalty for
// the distance from z, their guess at the mean of all weights. The mean is gathered along a binomial tree and handed
// out by the root, while training goes on; a worker brings its weights to the next round when it has the mean of the
// last one. z is the newest mean and, for the steps since this worker brought its weights to it, as much of the mean's
// last movement again, one round at most. The penalty acts as a pull: x <- x + pull (z - x) after every step; `pull` is
// rho times the learning rate.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "sync/compress/bits.h"
#include "sync/peer_rule.h"
#include "sync/weight_rule.h"

namespace thalweg::sync {
namespace {

class AnchorRule : public PeerRule {
 public:
  AnchorRule(int64_t period, double pull) : period_(period), pull_(static_cast<float>(pull)) {}

  void prepare(const PeerLine& line, const FlatWeights& /*flat*/, std::span<const float> weights,
               const std::vector<NamedTensor>& /*common*/, const std::vector<NamedTensor>& /*own*/) override {
    line_ = line;
    floats_ = weights.size();
    brought_ = got_ = 0;
    brought_at_ = means_at_ = 0;
    sums_.clear();
    mean_.clear();
    movement_.clear();
  }

  bool wants(int64_t step) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return step > 0 && ((got_ > 0 && pull_ > 0) || (step % period_ == 0 && brought_ == got_));
  }

  void act(int64_t step, std::vector<float>& weights) override {
    if (step == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (got_ > 0) {
      const double rounds = static_cast<double>(step - means_at_) / static_cast<double>(period_);
      const auto further = static_cast<float>(got_ > 1 ? std::min(1.0, rounds) : 0.0);
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] += pull_ * (mean_[i] + further * movement_[i] - weights[i]);
      }
    }
    if (step % period_ != 0 || brought_ != got_) return;
    ++brought_;
    brought_at_ = step;
    line_.send(line_.rank, message(kUp, brought_, 1, weights));
  }

  comm::Status handle(int from, std::span<const std::byte> contents) override {
    constexpr size_t kHeader = 3 * sizeof(int64_t);
    const auto nonsense = [&](const std::string& what) {
      return comm::Failure{comm::FailureKind::kProtocol, from, what, 0};
    };
    if (contents.size() != kHeader + floats_ * sizeof(float)) {
      return nonsense("weights of " + std::to_string(contents.size()) + " bytes");
    }
    const auto kind = take_number<int64_t>(contents), round = take_number<int64_t>(contents);
    const auto workers = take_number<int64_t>(contents);
    std::vector<float> values(floats_);
    std::memcpy(values.data(), contents.data(), contents.size());
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kind == kDown) {
      if (from != 0 || round != got_ + 1 || round > brought_) return nonsense("a mean that nobody waits for");
      take_mean(std::move(values));
      return {};
    }
    const bool is_below = from == line_.rank || parent(from) == line_.rank;
    // Each brings its weights when it has the mean of the last round, which this worker may get a little later.
    const bool is_now = round == got_ + 1 || round == got_ + 2;
    if (kind != kUp || !is_below || !is_now || workers < 1)
      return nonsense("weights for round " + std::to_string(round));
    gather(round, workers, std::move(values));
    return {};
  }

  comm::Status end(comm::Communicator& communicator, std::vector<float>& weights) override {
    return mean_of_all(communicator, weights);
  }

 private:
  static constexpr int64_t kUp = 1, kDown = 2;
  struct Sum {
    int64_t workers = 0;
    std::vector<float> values;
  };

  /// Without the lowest bit that is set.
  static int parent(int rank) { return rank & (rank - 1); }
  /// Workers at and below this one.
  int64_t subtree() const {
    const int lowest = line_.rank == 0 ? line_.size : line_.rank & -line_.rank;
    return std::min(lowest, line_.size - line_.rank);
  }

  static Bytes message(int64_t kind, int64_t round, int64_t workers, std::span<const float> values) {
    Bytes bytes;
    for (const int64_t number : {kind, round, workers}) put_number(bytes, number);
    const std::span<const std::byte> raw = std::as_bytes(values);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    return bytes;
  }

  void gather(int64_t round, int64_t workers, std::vector<float> values) {
    Sum& sum = sums_[round];
    sum.workers += workers;
    if (sum.values.empty()) {
      sum.values = std::move(values);
    } else {
      for (size_t i = 0; i < values.size(); ++i) sum.values[i] += values[i];
    }
    if (sum.workers < subtree()) return;
    if (line_.rank > 0) {
      line_.send(parent(line_.rank), message(kUp, round, sum.workers, sum.values));
    } else {
      for (float& value : sum.values) value /= static_cast<float>(sum.workers);
      for (int worker = 0; worker < line_.size; ++worker) line_.send(worker, message(kDown, round, 0, sum.values));
    }
    sums_.erase(round);
  }

  void take_mean(std::vector<float> values) {
    movement_.resize(values.size());
    for (size_t i = 0; i < values.size() && got_ > 0; ++i) movement_[i] = values[i] - mean_[i];
    mean_ = std::move(values);
    ++got_;
    means_at_ = brought_at_;
  }

  int64_t period_;
  float pull_;
  PeerLine line_;
  size_t floats_ = 0;
  mutable std::mutex mutex_;
  /// Rounds that this worker has brought its weights to, and has the mean of.
  int64_t brought_ = 0, got_ = 0;
  /// The step at which it brought them, the last time and for the mean that it has.
  int64_t brought_at_ = 0, means_at_ = 0;
  std::map<int64_t, Sum> sums_;
  std::vector<float> mean_, movement_;
};

const RegisterPeerRule kAnchor(
    {"anchor",
     Exchange::kTree,
     {{"period", 10, 1, kMany, true, "steps after which a worker brings its weights to the next mean"},
      {"pull", 0.1, 0, 1, false,
       "of the distance from the mean, as far as it is foreseen, that a worker makes up for after every step"}},
     [](const PartOptions& values) -> std::unique_ptr<PeerRule> {
       return std::make_unique<AnchorRule>(static_cast<int64_t>(values.at("period")), values.at("pull"));
     }});

}  // namespace

}  // namespace thalweg::sync
