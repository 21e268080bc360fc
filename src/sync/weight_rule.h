// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "sync/compress/compressor.h"
#include "sync/flat_weights.h"
#include "sync/registry.h"
#include "thalweg/comm.h"
#include "thalweg/sync.h"

namespace thalweg::sync {

/// A worker's weights when it meets others, each in one row.
struct Meeting {
  /// With which it began the step; empty unless the rule asks for them.
  std::vector<float> before;
  /// With its own update; the rule makes them those with which it goes on.
  std::vector<float> now;
};

/// How workers that train by themselves bring their weights together. One of the parts of a WeightScheme. All workers
/// call the same functions at the same steps. If one of them fails, nothing has changed.
class WeightRule {
 public:
  virtual ~WeightRule() = default;
  virtual bool needs_before() const { return false; }
  /// A new epoch, in which this worker begins with these weights; `state` is what `common_state` gave at another
  /// worker, or in a checkpoint, if this worker has taken over its state from there, or empty.
  virtual void prepare(const FlatWeights& /*flat*/, std::span<const float> /*weights*/,
                       const std::vector<NamedTensor>& /*state*/) {}
  virtual comm::Status meet(comm::Communicator& communicator, Meeting& meeting) = 0;
  /// After the last step, `steps` steps after the last meeting: all end with the same weights. By default the mean.
  virtual comm::Status end(comm::Communicator& communicator, int64_t steps, Meeting& meeting);
  /// After a meeting all have the same weights.
  virtual bool agrees() const { return true; }
  /// What all workers have in common besides weights, for checkpoints and newcomers, and where it lies.
  virtual std::vector<NamedTensor> common_state(const FlatWeights& /*flat*/) const { return {}; }
  /// As many numbers each as there are weights.
  virtual size_t num_common_values() const { return 0; }
  virtual std::vector<std::span<float>> common_values() { return {}; }
};

/// The mean of everybody's: every member ends with it.
comm::Status mean_of_all(comm::Communicator& communicator, std::vector<float>& values);

/// A rule as presets name it.
struct WeightRuleInfo {
  std::string name;
  Exchange exchange = Exchange::kAllReduce;
  /// Besides `period`. One of the name "news" is the number of steps between two at which all agree on stopping and on
  /// newcomers, if that is not the period.
  std::vector<OptionInfo> options;
  std::unique_ptr<WeightRule> (*make)(const PartOptions& values) = nullptr;
};
using RegisterWeightRule = Register<WeightRuleInfo>;
/// Throws Error if there is none of that name.
const WeightRuleInfo& weight_rule(const std::string& name);

}  // namespace thalweg::sync
