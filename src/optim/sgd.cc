// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/update_rule.h"

namespace thalweg::optim {
namespace {

class SgdRule : public UpdateRule {
 public:
  explicit SgdRule(const SgdOptions& options) : UpdateRule("sgd", 1e-3, options.weight_decay), options_(options) {
    require_not_negative("momentum", options.momentum);
    require_not_negative("weight_decay", options.weight_decay);
    TW_REQUIRE(!options.nesterov || (options.momentum > 0.0 && options.dampening == 0.0),
               "optimizer sgd: nesterov needs a momentum and no dampening");
  }

  std::vector<SlotSpec> slots() const override {
    if (options_.momentum == 0.0) return {};
    return {{"momentum"}};
  }

  void apply(const StepContext& context, const simd::UpdateTarget& target) const override {
    simd::SgdStep step{};
    step.terms = decayed_terms(context);
    step.learning_rate = static_cast<float>(context.learning_rate);
    step.has_momentum = options_.momentum != 0.0;
    step.nesterov = options_.nesterov;
    step.momentum = static_cast<float>(options_.momentum);
    // The first gradient becomes the buffer undampened, as in PyTorch.
    step.fresh = context.step == 1 ? 1.0f : static_cast<float>(1.0 - options_.dampening);
    simd::sgd_step(step, target);
  }

 private:
  SgdOptions options_;
};

}  // namespace

Optimizer sgd(const SgdOptions& options) { return Optimizer(std::make_unique<SgdRule>(options)); }

}  // namespace thalweg::optim
