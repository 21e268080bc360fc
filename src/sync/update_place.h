// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/exchange_thread.h"
#include "sync/gradient_exchange.h"
#include "sync/registry.h"
#include "sync/scheme_state.h"
#include "train/scheme.h"

namespace thalweg::sync {

/// Where the gradients of a step are added up, and who updates the parameters with the sum. One of the parts of a
/// GradientScheme, which lends it what it works with.
class UpdatePlace {
 public:
  struct Context {
    comm::Group& group;
    Trainee& trainee;
    GradientBuckets& buckets;
    GradientExchange& exchange;
  };
  virtual ~UpdatePlace() = default;

  virtual Held optimizer_held() const { return Held::kReplicated; }
  /// True if sums can be made where the gradients are, by everybody.
  virtual bool works_in_place() const { return false; }
  /// A new epoch of the group; valid until the next.
  virtual void prepare(const Context& context) = 0;
  /// That epoch is over: nothing of its communicator may be kept.
  virtual void release() {}

  /// A bucket of this worker's gradients is complete, and encoded. On the thread that exchanges, in order.
  virtual comm::Status reduce(std::span<float> bucket) = 0;
  /// On the thread that trains, while that goes on; so many tasks of the thread come before the buckets.
  virtual comm::Status follow(ExchangeThread& /*thread*/, size_t /*tasks_before*/) { return {}; }
  /// After all that: what is to be applied here. The loss is finite.
  virtual comm::Status update(Update& update) = 0;

  // As those of GroupScheme.
  virtual comm::Status begin_checkpoint(Trainee& /*trainee*/) { return {}; }
  virtual void end_checkpoint(Trainee& /*trainee*/) {}
  virtual comm::Status complete_state(const Context& /*context*/, int64_t /*target*/, bool /*counts*/) { return {}; }
  virtual comm::Status last_exchange() { return {}; }
};

/// A place as presets name it.
struct UpdatePlaceInfo {
  std::string name;
  /// The topologies along which it gets what it needs.
  std::vector<std::string> topologies;
  std::vector<OptionInfo> options;
  std::unique_ptr<UpdatePlace> (*make)(const std::string& topology, const PartOptions& values) = nullptr;
};
using RegisterUpdatePlace = Register<UpdatePlaceInfo>;

}  // namespace thalweg::sync
