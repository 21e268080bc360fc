// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// EASGD Tree (Zhang, Choromanska and LeCun, 2015): workers are the nodes of a tree, and along each edge an elastic pull
// brings both ends together: d = alpha (child - parent), child -= d, parent += d, with alpha = beta / (degree + 1).
// Edges to leaves pull every `leaf_period` steps, those between inner nodes, which are longer where a tree follows
// racks, every `inner_period`. Here inner nodes train as well; the child asks, and the parent answers when it has made
// a step, so that what leaves one end arrives at the other.
#include <cstring>
#include <deque>
#include <mutex>

#include "sync/compress/bits.h"
#include "sync/peer_rule.h"
#include "sync/weight_rule.h"

namespace thalweg::sync {
namespace {

class ElasticTreeRule : public PeerRule {
 public:
  ElasticTreeRule(int degree, int64_t leaf_period, int64_t inner_period, double beta)
      : degree_(degree), leaf_period_(leaf_period), inner_period_(inner_period), alpha_(beta / (degree + 1)) {}

  void prepare(const PeerLine& line, const FlatWeights& /*flat*/, std::span<const float> weights,
               const std::vector<NamedTensor>& /*common*/, const std::vector<NamedTensor>& /*own*/) override {
    line_ = line;
    floats_ = weights.size();
    inbox_.clear();
    is_asking_ = is_due_ = false;
  }

  bool wants(int64_t step) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !inbox_.empty() || (!is_asking_ && (asks_at(step) || (is_due_ && step > 0)));
  }

  void act(int64_t step, std::vector<float>& weights) override {
    std::deque<Letter> come;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      come.swap(inbox_);
    }
    for (Letter& letter : come) {
      if (letter.kind == kDifference) {
        for (size_t i = 0; i < weights.size(); ++i) weights[i] -= letter.values[i];
        const std::lock_guard<std::mutex> lock(mutex_);
        is_asking_ = false;
        continue;
      }
      for (size_t i = 0; i < weights.size(); ++i) {
        letter.values[i] = static_cast<float>(alpha_) * (letter.values[i] - weights[i]);
        weights[i] += letter.values[i];
      }
      line_.send(letter.from, message(kDifference, letter.values));
    }
    is_due_ = is_due_ || asks_at(step);
    if (!is_due_ || step == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_asking_) return;
    is_asking_ = true;
    is_due_ = false;
    line_.send(parent(), message(kWeights, weights));
  }

  comm::Status handle(int from, std::span<const std::byte> contents) override {
    const auto nonsense = [&](const std::string& what) {
      return comm::Failure{comm::FailureKind::kProtocol, from, what, 0};
    };
    if (contents.size() != sizeof(uint64_t) + floats_ * sizeof(float)) {
      return nonsense("an elastic message of " + std::to_string(contents.size()) + " bytes");
    }
    Letter letter{from, take_number<uint64_t>(contents), std::vector<float>(floats_)};
    std::memcpy(letter.values.data(), contents.data(), contents.size());
    const bool is_answer = letter.kind == kDifference && line_.rank > 0 && from == parent();
    const bool is_child = letter.kind == kWeights && from > 0 && (from - 1) / degree_ == line_.rank;
    if (!is_answer && !is_child) return nonsense("it is no neighbour in the tree");
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_answer && !is_asking_) return nonsense("a difference that nobody has asked for");
    inbox_.push_back(std::move(letter));
    return {};
  }

  bool expects() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_asking_ || !inbox_.empty();
  }

  comm::Status end(comm::Communicator& communicator, std::vector<float>& weights) override {
    return mean_of_all(communicator, weights);
  }

 private:
  static constexpr uint64_t kWeights = 1, kDifference = 2;
  struct Letter {
    int from = 0;
    uint64_t kind = 0;
    std::vector<float> values;
  };

  int parent() const { return (line_.rank - 1) / degree_; }
  bool asks_at(int64_t step) const {
    const bool is_leaf = degree_ * line_.rank + 1 >= line_.size;
    return step > 0 && line_.rank > 0 && step % (is_leaf ? leaf_period_ : inner_period_) == 0;
  }
  static Bytes message(uint64_t kind, std::span<const float> values) {
    Bytes bytes;
    put_number(bytes, kind);
    const std::span<const std::byte> raw = std::as_bytes(values);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    return bytes;
  }

  int degree_;
  int64_t leaf_period_, inner_period_;
  double alpha_;
  PeerLine line_;
  size_t floats_ = 0;
  /// Of the thread that trains: a pull is due, that waits for the last one.
  bool is_due_ = false;
  mutable std::mutex mutex_;
  std::deque<Letter> inbox_;
  bool is_asking_ = false;
};

const RegisterPeerRule kElasticTree(
    {"elastic tree",
     Exchange::kTree,
     {{"degree", 2, 1, 1e6, true, "children that a node of the tree has"},
      {"leaf_period", 10, 1, kMany, true, "steps between two pulls along an edge to a leaf"},
      {"inner_period", 100, 1, kMany, true, "steps between two pulls along an edge between inner nodes"},
      {"beta", 0.9, 0, 1, false, "each pull brings both ends closer by beta / (degree + 1) of their distance"}},
     [](const PartOptions& values) -> std::unique_ptr<PeerRule> {
       return std::make_unique<ElasticTreeRule>(static_cast<int>(values.at("degree")),
                                                static_cast<int64_t>(values.at("leaf_period")),
                                                static_cast<int64_t>(values.at("inner_period")), values.at("beta"));
     }});

}  // namespace

}  // namespace thalweg::sync
