// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// A trainer that is a worker of a group, when the group begins, changes and ends.
#include "train/trainer_impl.h"

namespace thalweg {

void Trainer::Impl::join_in() {
  try {
    make_up_checkpoint();
  } catch (const GroupChanged& change) {
    regroup(change.what());
  }
}

void Trainer::Impl::regroup(std::string failure) {
  for (;;) {
    const bool measured = options.scheme->measures();
    if (!failure.empty() || !measured) {
      tell([&](Callback& callback) {
        callback.on_message(failure.empty() ? "admitting a worker" : "the group has changed: " + failure);
      });
    }
    checkpoint_missing = options.scheme->regroup(*this, failure);
    step.set_runs(runs);
    group_loss = 0;
    group_samples = 0;
    try {
      return make_up_checkpoint();
    } catch (const GroupChanged& change) {
      failure = change.what();
    }
  }
}

void Trainer::Impl::make_up_checkpoint() {
  if (const std::string news = options.scheme->take_news(); !news.empty()) {
    tell([&](Callback& callback) { callback.on_message(news); });
  }
  // Whether there is one of this step is the same at every worker from here on.
  checkpoints.taken = state.progress.iteration;
  if (checkpoint_missing) checkpoint();
}

void Trainer::Impl::finish_group() {
  for (;;) {
    try {
      return options.scheme->finish(*this);
    } catch (const GroupChanged& change) {
      regroup(change.what());
    }
  }
}

}  // namespace thalweg
