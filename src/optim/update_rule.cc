// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/update_rule.h"

#include <cmath>

namespace thalweg::optim {

simd::GradientTerms UpdateRule::plain_terms(const StepContext& context) {
  return {static_cast<float>(context.gradient_scale), static_cast<float>(context.clip_value),
          static_cast<float>(context.settings.l1), static_cast<float>(context.settings.l2)};
}

simd::GradientTerms UpdateRule::decayed_terms(const StepContext& context) {
  simd::GradientTerms terms = plain_terms(context);
  terms.l2 = static_cast<float>(context.settings.l2 + context.settings.weight_decay);
  return terms;
}

void UpdateRule::require_range(const char* option, double value, double low, double high) const {
  TW_REQUIRE(value >= low && value < high, "optimizer ", name_, ": ", option, " is ", value, ", must lie in [", low,
             ", ", high, ")");
}

void UpdateRule::require_positive(const char* option, double value) const {
  TW_REQUIRE(value > 0.0 && std::isfinite(value), "optimizer ", name_, ": ", option, " is ", value,
             ", must be positive");
}

void UpdateRule::require_not_negative(const char* option, double value) const {
  TW_REQUIRE(value >= 0.0 && std::isfinite(value), "optimizer ", name_, ": ", option, " is ", value,
             ", must not be negative");
}

}  // namespace thalweg::optim
