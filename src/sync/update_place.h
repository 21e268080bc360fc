// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/exchange_thread.h"
#include "sync/gradient_exchange.h"
#include "sync/part_options.h"
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

/// Every worker adds up the gradients of all, and makes the same update.
std::unique_ptr<UpdatePlace> make_update_everywhere();
/// Each worker owns an equal part: it gets the sums of its part, updates it and hands it out. `copies` others keep a
/// copy of each part of the optimiser's state.
std::unique_ptr<UpdatePlace> make_update_by_owners(int copies);
/// The first worker owns everything; sums go to it along a binomial tree, and weights come back along it. `copies`
/// others keep a copy of its state.
std::unique_ptr<UpdatePlace> make_update_at_root(int copies);

}  // namespace thalweg::sync
