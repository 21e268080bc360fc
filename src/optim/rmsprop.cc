// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class RmspropRule : public UpdateRule {
 public:
  explicit RmspropRule(const RmspropOptions& options)
      : UpdateRule("rmsprop", 1e-2, options.weight_decay), options_(options) {
    require_range("alpha", options.alpha, 0.0, 1.0);
    require_positive("epsilon", options.epsilon);
    require_not_negative("momentum", options.momentum);
    require_not_negative("weight_decay", options.weight_decay);
  }

  std::vector<SlotSpec> slots() const override {
    std::vector<SlotSpec> result = {{"square_average"}};
    if (options_.centered) result.push_back({"gradient_average"});
    if (options_.momentum > 0.0) result.push_back({"momentum"});
    return result;
  }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    simd::RmspropStep step{};
    step.terms = decayed_terms(context);
    step.learning_rate = static_cast<float>(context.learning_rate);
    step.alpha = static_cast<float>(options_.alpha);
    step.fresh = static_cast<float>(1.0 - options_.alpha);
    step.epsilon = static_cast<float>(options_.epsilon);
    step.momentum = static_cast<float>(options_.momentum);
    step.centered = options_.centered;
    step.has_momentum = options_.momentum > 0.0;
    simd::rmsprop_step(step, target);
  }

 private:
  RmspropOptions options_;
};

}  // namespace

Optimizer rmsprop(const RmspropOptions& options) { return Optimizer(std::make_unique<RmspropRule>(options)); }

}  // namespace thalweg::optim
