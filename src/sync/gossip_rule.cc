// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// GoSGD (Blot et al., 2016): each worker has a share w, 1/M at first. After a step, with probability p, it halves its
// share and sends the half with its weights x to another one at random, which takes the mean of both by their shares
// and adds the shares up. So the sum of all shares stays 1, and that of w x only moves by the workers' own steps. When
// the group changes shares begin anew.
#include <cstring>
#include <deque>
#include <mutex>

#include "sync/compress/bits.h"
#include "sync/peer_rule.h"

namespace thalweg::sync {
namespace {

class GossipRule : public PeerRule {
 public:
  explicit GossipRule(double probability) : probability_(probability) {}

  void prepare(const PeerLine& line, const FlatWeights& /*flat*/, std::span<const float> weights,
               const std::vector<NamedTensor>& /*common*/, const std::vector<NamedTensor>& /*own*/) override {
    line_ = line;
    floats_ = weights.size();
    share_ = 1.0 / line.size;
    inbox_.clear();
  }

  bool wants(int64_t step) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !inbox_.empty() || sends_at(step);
  }

  void act(int64_t step, std::vector<float>& weights) override {
    std::deque<Gossip> come;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      come.swap(inbox_);
    }
    for (const Gossip& gossip : come) {
      const double sum = share_ + gossip.share;
      const auto mine = static_cast<float>(share_ / sum), theirs = static_cast<float>(gossip.share / sum);
      for (size_t i = 0; i < weights.size(); ++i) weights[i] = mine * weights[i] + theirs * gossip.weights[i];
      share_ = sum;
    }
    if (!sends_at(step)) return;
    share_ /= 2;
    Bytes bytes;
    put_number(bytes, share_);
    const std::span<const std::byte> raw = std::as_bytes(std::span<const float>(weights));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    line_.send(peer_of(step), std::move(bytes));
  }

  comm::Status handle(int from, std::span<const std::byte> contents) override {
    if (contents.size() != sizeof(double) + floats_ * sizeof(float)) {
      return comm::Failure{comm::FailureKind::kProtocol, from,
                           "weights of " + std::to_string(contents.size()) + " bytes in place of " +
                               std::to_string(sizeof(double) + floats_ * sizeof(float)),
                           0};
    }
    Gossip gossip{take_number<double>(contents), std::vector<float>(floats_)};
    std::memcpy(gossip.weights.data(), contents.data(), contents.size());
    if (!(gossip.share > 0 && gossip.share <= 1)) {
      return comm::Failure{comm::FailureKind::kProtocol, from, "a share of " + std::to_string(gossip.share), 0};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    inbox_.push_back(std::move(gossip));
    return {};
  }

  bool expects() const override { return wants(0); }

  /// All end with the sum of w x.
  comm::Status end(comm::Communicator& communicator, std::vector<float>& weights) override {
    double sum = share_;
    if (comm::Status status = communicator.all_reduce(&sum, 1, DType::kF64); !status) return status;
    const auto mine = static_cast<float>(share_ / sum);
    for (float& value : weights) value *= mine;
    return communicator.all_reduce(weights.data(), weights.size(), DType::kF32);
  }

  /// For checkpoints: of how much the weights count.
  std::vector<NamedTensor> own_state(const FlatWeights& /*flat*/) override {
    return {{"share", Tensor::scalar<double>(share_)}};
  }

 private:
  struct Gossip {
    double share = 0;
    std::vector<float> weights;
  };

  /// The same whenever it is asked of a step.
  CodeRandom dice(int64_t step) const { return CodeRandom({step, line_.rank, line_.size}, kDice); }
  bool sends_at(int64_t step) const {
    return step > 0 && line_.size > 1 && dice(step).uniform() < static_cast<float>(probability_);
  }
  int peer_of(int64_t step) const {
    CodeRandom random = dice(step);
    random.uniform();
    const int peer = std::min(static_cast<int>(random.uniform() * static_cast<float>(line_.size - 1)), line_.size - 2);
    return peer < line_.rank ? peer : peer + 1;
  }

  static constexpr size_t kDice = 0x60551;
  double probability_;
  PeerLine line_;
  size_t floats_ = 0;
  double share_ = 1;
  mutable std::mutex mutex_;
  std::deque<Gossip> inbox_;
};

const RegisterPeerRule kGossip({"gossip",
                                Exchange::kAdHoc,
                                {{"probability", 0.02, 0, 1, false,
                                  "of sending half a share and the weights to another worker after a step"}},
                                [](const PartOptions& values) -> std::unique_ptr<PeerRule> {
                                  return std::make_unique<GossipRule>(values.at("probability"));
                                }});

}  // namespace

}  // namespace thalweg::sync
