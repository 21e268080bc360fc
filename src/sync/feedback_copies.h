// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sync/compress/feedback.h"
#include "sync/gradient_exchange.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// What the worker before this one keeps of its gradients, as far as it can be known here, for the case that it is
/// lost: then it is added to what this one keeps.
///
/// At every step each worker hands a slice of what it keeps to the next one, so that all of it has gone there once in
/// `every` steps, and all at once after the group has changed. In between, this worker takes off what the other sends,
/// which all workers see. So of a worker that is lost, only what its own gradients since the last copy had added is
/// missing.
class FeedbackCopies {
 public:
  /// With 0 nothing is copied.
  FeedbackCopies(GradientExchange& exchange, int64_t every) : exchange_(exchange), every_(every) {}

  bool any() const {
    return every_ > 0 && exchange_.compressor() != nullptr && exchange_.compressor()->kept() != nullptr;
  }
  /// A new epoch, in which all steps are settled: takes over what a worker before this one has left, if `is_lost` says
  /// so of its name, and watches the one that is before this one now.
  template <typename IsLost>
  void begin_epoch(const comm::Group& group, const IsLost& is_lost) {
    if (!any()) return;
    if (is_copied_ && is_lost(watched_)) take_over();
    watch(group);
  }
  /// Every worker, at every step, before the codes of that step arrive. On the thread that exchanges.
  comm::Status copy(comm::Communicator& communicator);

  void commit() { copy_.commit(); }
  void roll_back() { copy_.roll_back(); }
  void forget();

 private:
  void take_over();
  void watch(const comm::Group& group);
  void was_sent(size_t gradient, std::span<const float> values);

  GradientExchange& exchange_;
  int64_t every_;
  Feedback copy_{"copy"};
  /// The name of the worker before this one.
  std::string watched_;
  /// All of it has been copied in this epoch.
  bool is_copied_ = false;
  /// Where the next slice begins, all gradients being one row.
  size_t next_ = 0;
  std::vector<float> outgoing_, incoming_;
};

}  // namespace thalweg::sync
