// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "optim/layerwise.h"
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class LambRule : public UpdateRule {
 public:
  explicit LambRule(const LambOptions& options) : UpdateRule("lamb", 1e-3, options.weight_decay), options_(options) {
    require_range("beta1", options.beta1, 0.0, 1.0);
    require_range("beta2", options.beta2, 0.0, 1.0);
    require_positive("epsilon", options.epsilon);
    require_not_negative("weight_decay", options.weight_decay);
  }

  std::vector<SlotSpec> slots() const override { return {{"first_moment"}, {"second_moment"}}; }
  bool elementwise() const override { return false; }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    const auto steps = static_cast<double>(context.step);
    simd::LambStep step{};
    step.terms = plain_terms(context);
    step.fresh1 = static_cast<float>(1.0 - options_.beta1);
    step.beta2 = static_cast<float>(options_.beta2);
    step.fresh2 = static_cast<float>(1.0 - options_.beta2);
    step.first_scale = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, steps)));
    step.root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(options_.beta2, steps)));
    step.epsilon = static_cast<float>(options_.epsilon);
    step.decay = static_cast<float>(context.settings.weight_decay);
    const NormPair norm = measure_norms(
        target, [&](double* values, double* directions) { simd::lamb_moments(step, target, values, directions); });
    const bool adapts = context.settings.layer_adaptation && norm.value > 0.0 && norm.other > 0.0;
    step.rate = static_cast<float>(context.learning_rate * (adapts ? norm.value / norm.other : 1.0));
    simd::lamb_apply(step, target);
  }

 private:
  LambOptions options_;
};

}  // namespace

Optimizer lamb(const LambOptions& options) { return Optimizer(std::make_unique<LambRule>(options)); }

}  // namespace thalweg::optim
