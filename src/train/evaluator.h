// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/program_cache.h"
#include "thalweg/train.h"

namespace thalweg {

struct EvaluatorOptions {
  int64_t batch_size = 32;
  /// That compute.
  int threads = 0;
  data::LoaderOptions reading = {};
};

struct Evaluation {
  Scores scores;
  data::SkippedSamples skipped;
};

/// Measures a model in inference form on a dataset.
class Evaluator {
 public:
  struct Watcher {
    std::function<void()> after_batch;
    /// Several times a second.
    std::function<void()> while_waiting;
  };
  Evaluator(Model& model, Loss loss, const EvaluatorOptions& options);

  const Loss& loss() const { return loss_; }
  /// Throws InputError unless the model, its loss and the metrics take samples of such types.
  void require_fit(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics) const;
  /// Gives up between two batches, with what it has seen so far, once `stop` is set; throws data::WaitStopped if no
  /// batch comes any more.
  Evaluation run(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics,
                 const std::atomic<bool>& stop, const Watcher& watcher);

 private:
  void prepare(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics) const;
  double loss_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets);
  std::shared_ptr<SessionPool> loss_program(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets);

  Model& model_;
  Loss loss_;
  EvaluatorOptions options_;
  ProgramCache programs_;
};

}  // namespace thalweg
