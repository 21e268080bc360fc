// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/feedback_copies.h"
#include "sync/gradient_exchange.h"
#include "sync/sparse_exchange.h"
#include "train/scheme.h"

namespace thalweg::sync {

/// Throws Error if both the compressor and the optimiser have momentum.
inline void require_fitting_momentum(const Compressor* compressor, Trainee& trainee) {
  if (compressor == nullptr || !compressor->applies_momentum()) return;
  optim::Optimizer& updater = trainee.updater();
  for (const TrainedVariable& entry : trainee.trained()) {
    TW_REQUIRE(updater.slots(trainee.updater_index(entry.variable)).empty(),
               "compression dgc has a momentum of its own, ", "and optimizer ", updater.name(),
               " keeps state too: use sgd without momentum, or compression topk");
  }
}

/// What a worker's compressor keeps, in step with its updates: the codes of a step change it only if that step turns
/// out to be complete, which may be known only when the group has come together again.
class StepCodes {
 public:
  StepCodes(GradientExchange& dense, SparseExchange& sparse, FeedbackCopies& copies)
      : dense_(dense), sparse_(sparse), copies_(copies) {}

  /// A step begins, at which the codes that follow are made.
  void begin_step(const Trainee& trainee, const data::Share& share) {
    settle(trainee);
    coding_ = trainee.iteration() + 1;
    dense_.begin_step({trainee.iteration(), share.part, share.parts});
  }
  /// The codes of the last step count if the trainee has come to its end, by itself or because another worker had,
  /// which had these codes.
  void settle(const Trainee& trainee) {
    if (coding_ == kNone) return;
    const bool is_complete = trainee.iteration() >= coding_;
    coding_ = kNone;
    is_complete ? sparse_.commit() : sparse_.roll_back();
    is_complete ? copies_.commit() : copies_.roll_back();
    if (dense_.compressor() == nullptr) return;
    is_complete ? dense_.compressor()->commit() : dense_.compressor()->roll_back();
  }

  std::vector<NamedTensor> state() const {
    std::vector<NamedTensor> result = sparse_.state();
    if (dense_.compressor() == nullptr) return result;
    for (NamedTensor& entry : dense_.compressor()->state()) result.push_back(std::move(entry));
    return result;
  }
  void set_state(const std::vector<std::vector<NamedTensor>>& states) {
    clear();
    for (const std::vector<NamedTensor>& state : states) {
      sparse_.add_state(state);
      if (dense_.compressor() != nullptr) dense_.compressor()->add_state(state);
    }
  }
  void clear() {
    coding_ = kNone;
    copies_.forget();
    sparse_.clear_state();
    if (dense_.compressor() != nullptr) dense_.compressor()->clear_state();
  }

 private:
  static constexpr int64_t kNone = -1;
  GradientExchange& dense_;
  SparseExchange& sparse_;
  FeedbackCopies& copies_;
  /// The step whose codes have been made but not settled.
  int64_t coding_ = kNone;
};

}  // namespace thalweg::sync
