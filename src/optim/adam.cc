// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class AdamRule : public UpdateRule {
 public:
  /// `decoupled`: weight decay acts on the parameter (AdamW), not on the gradient.
  AdamRule(const char* name, const AdamOptions& options, bool decoupled)
      : UpdateRule(name, 1e-3, options.weight_decay), options_(options), decoupled_(decoupled) {
    require_range("beta1", options.beta1, 0.0, 1.0);
    require_range("beta2", options.beta2, 0.0, 1.0);
    require_positive("epsilon", options.epsilon);
    require_not_negative("weight_decay", options.weight_decay);
  }

  std::vector<SlotSpec> slots() const override {
    std::vector<SlotSpec> result = {{"first_moment"}, {"second_moment"}};
    if (options_.amsgrad) result.push_back({"largest_second_moment"});
    return result;
  }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    const auto steps = static_cast<double>(context.step);
    const double correction1 = 1.0 - std::pow(options_.beta1, steps);
    const double root_scale = 1.0 / std::sqrt(1.0 - std::pow(options_.beta2, steps));
    const double decay = decoupled_ ? context.learning_rate * context.settings.weight_decay : 0.0;
    // torch.optim.SparseAdam adds epsilon before it corrects the bias of the second moment, Adam
    // after.
    const double epsilon = target.rows == nullptr ? options_.epsilon : options_.epsilon * root_scale;
    simd::AdamStep step{};
    step.terms = decoupled_ ? plain_terms(context) : decayed_terms(context);
    step.step_size = static_cast<float>(context.learning_rate / correction1);
    step.keep = static_cast<float>(1.0 - decay);
    step.fresh1 = static_cast<float>(1.0 - options_.beta1);
    step.beta2 = static_cast<float>(options_.beta2);
    step.fresh2 = static_cast<float>(1.0 - options_.beta2);
    step.root_scale = static_cast<float>(root_scale);
    step.epsilon = static_cast<float>(epsilon);
    step.amsgrad = options_.amsgrad;
    simd::adam_step(step, target);
  }

 private:
  AdamOptions options_;
  bool decoupled_;
};

}  // namespace

Optimizer adam(const AdamOptions& options) { return Optimizer(std::make_unique<AdamRule>("adam", options, false)); }

Optimizer adamw(const AdamWOptions& options) {
  const AdamOptions common{options.beta1, options.beta2, options.epsilon, options.amsgrad, options.weight_decay};
  return Optimizer(std::make_unique<AdamRule>("adamw", common, true));
}

}  // namespace thalweg::optim
