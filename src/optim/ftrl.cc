// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class FtrlRule : public UpdateRule {
 public:
  explicit FtrlRule(const FtrlOptions& options) : UpdateRule("ftrl", 1e-3, 0.0), options_(options) {
    // The quadratic term, by which the rule divides, must not vanish for elements that pad a
    // layout.
    require_positive("initial_accumulator", options.initial_accumulator);
    require_not_negative("l1", options.l1);
    require_not_negative("l2", options.l2);
    require_not_negative("l2_shrinkage", options.l2_shrinkage);
    require_not_negative("beta", options.beta);
    TW_REQUIRE(options.learning_rate_power <= 0.0, "optimizer ftrl: learning_rate_power is ",
               options.learning_rate_power, ", must not be positive");
  }

  std::vector<SlotSpec> slots() const override {
    return {{"accumulator", static_cast<float>(options_.initial_accumulator)}, {"linear"}};
  }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    if (context.learning_rate == 0.0) return;  // the closed form divides by it
    const double l2 = options_.l2 + options_.beta / (2.0 * context.learning_rate);
    simd::FtrlStep step{};
    step.terms = decayed_terms(context);
    step.inverse_rate = static_cast<float>(1.0 / context.learning_rate);
    step.l1 = static_cast<float>(options_.l1);
    step.twice_l2 = static_cast<float>(2.0 * l2);
    step.twice_shrinkage = static_cast<float>(2.0 * options_.l2_shrinkage);
    step.power = static_cast<float>(options_.learning_rate_power);
    simd::ftrl_step(step, target);
  }

 private:
  FtrlOptions options_;
};

}  // namespace

Optimizer ftrl(const FtrlOptions& options) { return Optimizer(std::make_unique<FtrlRule>(options)); }

}  // namespace thalweg::optim
