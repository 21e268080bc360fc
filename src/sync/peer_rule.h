// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "sync/compress/compressor.h"
#include "sync/flat_weights.h"
#include "sync/registry.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// How a rule sends. It is valid for an epoch of the group.
struct PeerLine {
  int rank = 0;
  int size = 1;
  /// To a worker, itself too; returns at once. What one worker is sent arrives in order.
  std::function<void(int peer, Bytes contents)> send;
};

/// How workers that train by themselves move each other's weights by messages, each whenever it comes to it. One of the
/// parts of FreeWeights. What is not said to be on the thread that listens is on the one that trains.
class PeerRule {
 public:
  virtual ~PeerRule() = default;

  /// Throws Error if the rule and the optimiser do not go together.
  virtual void check(Trainee& /*trainee*/) const {}
  /// A new epoch, in which this worker begins with these weights. `common` is what `common_state` gave, in a checkpoint
  /// or at another worker, if this one has its state from there, or empty; the same holds for `own`.
  virtual void prepare(const PeerLine& line, const FlatWeights& flat, std::span<const float> weights,
                       const std::vector<NamedTensor>& common, const std::vector<NamedTensor>& own) = 0;
  /// Whether there is anything to do after this step of this worker's; 0: it makes no more.
  virtual bool wants(int64_t step) const = 0;
  /// After its own update: may change its weights, and must not wait for anybody.
  virtual void act(int64_t step, std::vector<float>& weights) = 0;
  /// On the thread that listens: a message. A failure is the sender's.
  virtual comm::Status handle(int from, std::span<const std::byte> contents) = 0;
  /// It has asked others for something that has not come, or not been used.
  virtual bool expects() const { return false; }

  /// All workers, when none makes another step and nothing is on its way: all end with the same weights.
  virtual comm::Status end(comm::Communicator& communicator, std::vector<float>& weights) = 0;
  /// All workers, when the group has changed: what others have of this rule's state comes together, as far as it is
  /// still there. `counts` says whether this worker is one of those whose state holds, `weights` are those of one that
  /// is.
  virtual comm::Status recover(comm::Communicator& /*communicator*/, std::span<const float> /*weights*/,
                               bool /*counts*/) {
    return {};
  }

  /// Besides weights and the optimiser, for checkpoints: what this worker has...
  virtual std::vector<NamedTensor> own_state(const FlatWeights& /*flat*/) { return {}; }
  /// ... and what follows for all from what each has, by rank; it may be taken out there.
  virtual std::vector<NamedTensor> common_state(const FlatWeights& /*flat*/,
                                                std::vector<std::vector<NamedTensor>>& /*own*/) {
    return {};
  }
};

/// A rule as presets name it.
struct PeerRuleInfo {
  std::string name;
  Exchange exchange = Exchange::kAdHoc;
  std::vector<OptionInfo> options;
  std::unique_ptr<PeerRule> (*make)(const PartOptions& values) = nullptr;
};
using RegisterPeerRule = Register<PeerRuleInfo>;

}  // namespace thalweg::sync
