// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class AdagradRule : public UpdateRule {
 public:
  explicit AdagradRule(const AdagradOptions& options)
      : UpdateRule("adagrad", 1e-2, options.weight_decay), options_(options) {
    require_not_negative("learning_rate_decay", options.learning_rate_decay);
    require_not_negative("initial_accumulator", options.initial_accumulator);
    require_not_negative("weight_decay", options.weight_decay);
    require_positive("epsilon", options.epsilon);
  }

  std::vector<SlotSpec> slots() const override { return {{"sum", static_cast<float>(options_.initial_accumulator)}}; }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    const auto steps_before = static_cast<double>(context.step - 1);
    simd::AdagradStep step{};
    step.terms = decayed_terms(context);
    step.learning_rate =
        static_cast<float>(context.learning_rate / (1.0 + steps_before * options_.learning_rate_decay));
    step.epsilon = static_cast<float>(options_.epsilon);
    simd::adagrad_step(step, target);
  }

 private:
  AdagradOptions options_;
};

}  // namespace

Optimizer adagrad(const AdagradOptions& options) { return Optimizer(std::make_unique<AdagradRule>(options)); }

}  // namespace thalweg::optim
