// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class AdadeltaRule : public UpdateRule {
 public:
  explicit AdadeltaRule(const AdadeltaOptions& options)
      : UpdateRule("adadelta", 1.0, options.weight_decay), options_(options) {
    require_range("rho", options.rho, 0.0, 1.0);
    require_positive("epsilon", options.epsilon);
    require_not_negative("weight_decay", options.weight_decay);
  }

  std::vector<SlotSpec> slots() const override { return {{"square_average"}, {"delta_average"}}; }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    simd::AdadeltaStep step{};
    step.terms = decayed_terms(context);
    step.learning_rate = static_cast<float>(context.learning_rate);
    step.rho = static_cast<float>(options_.rho);
    step.fresh = static_cast<float>(1.0 - options_.rho);
    step.epsilon = static_cast<float>(options_.epsilon);
    simd::adadelta_step(step, target);
  }

 private:
  AdadeltaOptions options_;
};

}  // namespace

Optimizer adadelta(const AdadeltaOptions& options) { return Optimizer(std::make_unique<AdadeltaRule>(options)); }

}  // namespace thalweg::optim
