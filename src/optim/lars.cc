// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/layerwise.h"
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class LarsRule : public UpdateRule {
 public:
  explicit LarsRule(const LarsOptions& options) : UpdateRule("lars", 0.1, options.weight_decay), options_(options) {
    require_not_negative("momentum", options.momentum);
    require_positive("trust", options.trust);
    require_not_negative("epsilon", options.epsilon);
    require_not_negative("weight_decay", options.weight_decay);
  }

  std::vector<SlotSpec> slots() const override { return {{"velocity"}}; }
  bool elementwise() const override { return false; }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    simd::LarsStep step{};
    step.terms = decayed_terms(context);
    step.rate = static_cast<float>(context.learning_rate * trust_ratio(context, target));
    step.momentum = static_cast<float>(options_.momentum);
    step.nesterov = options_.nesterov;
    simd::lars_step(step, target);
  }

 private:
  double trust_ratio(const StepContext& context, const simd::UpdateTarget& target) const {
    if (!context.settings.layer_adaptation) return 1.0;
    const NormPair norm = measure_norms(target, [&](double* values, double* gradients) {
      simd::lars_norms(plain_terms(context), target, values, gradients);
    });
    if (norm.value == 0.0 || norm.other == 0.0) return 1.0;
    return options_.trust * norm.value / (norm.other + context.settings.weight_decay * norm.value + options_.epsilon);
  }

  LarsOptions options_;
};

}  // namespace

Optimizer lars(const LarsOptions& options) { return Optimizer(std::make_unique<LarsRule>(options)); }

}  // namespace thalweg::optim
