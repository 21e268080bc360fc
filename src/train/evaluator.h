// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/program_cache.h"
#include "thalweg/train.h"

namespace thalweg {

/// Measures a model in inference form on a dataset.
class Evaluator {
 public:
  Evaluator(Model& model, Loss loss, int threads);

  /// Gives up between two batches, with what it has seen so far, once `stop` is set.
  Scores run(const data::Dataset& data, int64_t batch_size, int prefetch,
             const std::vector<std::shared_ptr<metrics::Metric>>& metrics, const std::atomic<bool>& stop);

 private:
  double loss_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets);
  std::shared_ptr<SessionPool> loss_program(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets);

  Model& model_;
  Loss loss_;
  int threads_;
  ProgramCache programs_;
};

}  // namespace thalweg
