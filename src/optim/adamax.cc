// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class AdamaxRule : public UpdateRule {
 public:
  explicit AdamaxRule(const AdamaxOptions& options)
      : UpdateRule("adamax", 2e-3, options.weight_decay), options_(options) {
    require_range("beta1", options.beta1, 0.0, 1.0);
    require_range("beta2", options.beta2, 0.0, 1.0);
    require_positive("epsilon", options.epsilon);
    require_not_negative("weight_decay", options.weight_decay);
  }

  std::vector<SlotSpec> slots() const override { return {{"first_moment"}, {"infinity_norm"}}; }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    const double correction = 1.0 - std::pow(options_.beta1, static_cast<double>(context.step));
    simd::AdamaxStep step{};
    step.terms = decayed_terms(context);
    step.step_size = static_cast<float>(context.learning_rate / correction);
    step.fresh1 = static_cast<float>(1.0 - options_.beta1);
    step.beta2 = static_cast<float>(options_.beta2);
    step.epsilon = static_cast<float>(options_.epsilon);
    simd::adamax_step(step, target);
  }

 private:
  AdamaxOptions options_;
};

}  // namespace

Optimizer adamax(const AdamaxOptions& options) { return Optimizer(std::make_unique<AdamaxRule>(options)); }

}  // namespace thalweg::optim
