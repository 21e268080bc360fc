// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// A training step of which this worker computes a share.
#include <chrono>
#include <cmath>
#include <cstring>

#include "model/model_impl.h"
#include "train/training_step.h"

namespace thalweg {
namespace {

/// Puts the states of a model (the running statistics of batch norms) back unless the step is completed: a step that is
/// repeated must find them as they were.
class StatesBefore {
 public:
  explicit StatesBefore(Variables& variables) : variables_(variables) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables.is_parameter(i)) continue;
      const auto* data = static_cast<const std::byte*>(variables.data(i));
      saved_.push_back({i, {data, data + variables.layout(i).bytes()}});
    }
  }
  ~StatesBefore() {
    if (completed_) return;
    for (const auto& [index, bytes] : saved_) std::memcpy(variables_.data(index), bytes.data(), bytes.size());
  }
  StatesBefore(const StatesBefore&) = delete;
  StatesBefore& operator=(const StatesBefore&) = delete;
  void complete() { completed_ = true; }

 private:
  Variables& variables_;
  std::vector<std::pair<size_t, std::vector<std::byte>>> saved_;
  bool completed_ = false;
};

}  // namespace

StepTotals TrainingStep::run_share(const data::Batch& batch, const StepInput& input, StepResult& result) {
  StepTotals totals;
  totals.stop = input.stop;
  // A last batch may have fewer samples than there are workers.
  if (batch.size() == 0) return totals;
  const auto samples = static_cast<double>(batch.size());
  const double weight = input.whole_samples > 0 ? samples / static_cast<double>(input.whole_samples) : 1.0;
  Run run{compiled_for(batch), samples, {}, false};
  const bool is_handed_over = options_.scheme->gradient_path() != GradientPath::kOwnUpdate;
  totals.samples = samples;
  totals.loss = std::nan("");
  try {
    result.outputs = run_program(run, batch, [&](const GradientView& view) {
      if (is_handed_over) {
        options_.scheme->add_gradient(view, weight);
      } else {
        on_gradient(run, view);
      }
    });
  } catch (const NonFiniteLoss&) {
    // The others take part in the exchange whatever happens here, and must learn of it there.
    return totals;
  }
  hand_over_factors(run.compiled, result.outputs, weight);
  totals.loss = result.outputs.back().item() * samples;
  result.outputs.pop_back();
  return totals;
}

StepResult TrainingStep::run_in_group(const data::Batch& batch, const StepInput& input) {
  TW_REQUIRE(options_.accumulate == 1, "workers of a group cannot accumulate ", options_.accumulate,
             " batches: make the batch larger instead");
  StatesBefore states(*model_.impl().variables);
  StepResult result;
  StepTotals totals = run_share(batch, input, result);
  const auto begin = std::chrono::steady_clock::now();
  const Update update = options_.scheme->exchange(totals);
  const auto exchanged = std::chrono::steady_clock::now();
  result.samples = static_cast<int64_t>(totals.samples);
  result.loss = totals.samples > 0 ? totals.loss / totals.samples : 0;
  result.stop = totals.stop;
  const bool finite = std::isfinite(result.loss);
  const bool is_handed_over = options_.scheme->gradient_path() != GradientPath::kOwnUpdate;
  if (finite && is_handed_over) apply_all(update);
  const auto updated = std::chrono::steady_clock::now();
  if (finite || !is_handed_over) result.in_lockstep = options_.scheme->after_update();
  // Some schemes exchange gradients before the update, others weights after it.
  result.exchange_seconds =
      std::chrono::duration<double>(exchanged - begin + (std::chrono::steady_clock::now() - updated)).count();
  states.complete();
  if (!finite) throw NonFiniteLoss("the loss is " + std::to_string(result.loss), totals.of_all);
  result.updated = true;
  return result;
}

}  // namespace thalweg
