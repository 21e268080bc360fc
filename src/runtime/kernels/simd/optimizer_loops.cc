// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/optimizer_loops.h"

#include "runtime/kernels/simd/optimizer_blocks.h"

// Each rule maps one element (w, its prepared gradient g, its slots) to the new w. Elements that
// pad a blocked layout have w = g = 0 and must come out as 0; the epsilons, which are never zero,
// see to that.

namespace thalweg::simd::TW_SIMD_NS {

struct SgdRule {
  static constexpr int kSlots = 0;
  static constexpr bool kUsesGradient = true;
  float learning_rate;
  float operator()(float w, float g, float&, float&, float&) const { return w - learning_rate * g; }
};

template <bool kNesterov>
struct SgdMomentumRule {
  static constexpr int kSlots = 1;
  static constexpr bool kUsesGradient = true;
  float learning_rate, momentum, fresh;
  float operator()(float w, float g, float& buffer, float&, float&) const {
    buffer = momentum * buffer + fresh * g;
    return w - learning_rate * (kNesterov ? g + momentum * buffer : buffer);
  }
};

void sgd_step(const SgdStep& step, const UpdateTarget& target) {
  if (!step.has_momentum) return apply(SgdRule{step.learning_rate}, step.terms, target);
  if (step.nesterov) {
    const SgdMomentumRule<true> rule{step.learning_rate, step.momentum, step.fresh};
    return apply(rule, step.terms, target);
  }
  const SgdMomentumRule<false> rule{step.learning_rate, step.momentum, step.fresh};
  apply(rule, step.terms, target);
}

struct AdagradRule {
  static constexpr int kSlots = 1;
  static constexpr bool kUsesGradient = true;
  float learning_rate, epsilon;
  float operator()(float w, float g, float& sum, float&, float&) const {
    sum += g * g;
    return w - learning_rate * g / (std::sqrt(sum) + epsilon);
  }
};

void adagrad_step(const AdagradStep& step, const UpdateTarget& target) {
  apply(AdagradRule{step.learning_rate, step.epsilon}, step.terms, target);
}

struct AdadeltaRule {
  static constexpr int kSlots = 2;
  static constexpr bool kUsesGradient = true;
  float learning_rate, rho, fresh, epsilon;
  float operator()(float w, float g, float& squares, float& deltas, float&) const {
    squares = rho * squares + fresh * g * g;
    const float delta = std::sqrt((deltas + epsilon) / (squares + epsilon)) * g;
    deltas = rho * deltas + fresh * delta * delta;
    return w - learning_rate * delta;
  }
};

void adadelta_step(const AdadeltaStep& step, const UpdateTarget& target) {
  apply(AdadeltaRule{step.learning_rate, step.rho, step.fresh, step.epsilon}, step.terms, target);
}

template <bool kAmsgrad>
struct AdamRule {
  static constexpr int kSlots = kAmsgrad ? 3 : 2;
  static constexpr bool kUsesGradient = true;
  float step_size, keep, fresh1, beta2, fresh2, root_scale, epsilon;
  float operator()(float w, float g, float& first, float& second, float& largest) const {
    first += fresh1 * (g - first);
    second = beta2 * second + fresh2 * g * g;
    float scale = second;
    if constexpr (kAmsgrad) {
      largest = largest < second ? second : largest;
      scale = largest;
    }
    return keep * w - step_size * first / (std::sqrt(scale) * root_scale + epsilon);
  }
};

template <bool kAmsgrad>
static AdamRule<kAmsgrad> adam_rule(const AdamStep& step) {
  return {step.step_size, step.keep, step.fresh1, step.beta2, step.fresh2, step.root_scale, step.epsilon};
}

void adam_step(const AdamStep& step, const UpdateTarget& target) {
  if (step.amsgrad) return apply(adam_rule<true>(step), step.terms, target);
  apply(adam_rule<false>(step), step.terms, target);
}

struct AdamaxRule {
  static constexpr int kSlots = 2;
  static constexpr bool kUsesGradient = true;
  float step_size, fresh1, beta2, epsilon;
  float operator()(float w, float g, float& first, float& norm, float&) const {
    first += fresh1 * (g - first);
    const float decayed = beta2 * norm;
    const float fresh = std::fabs(g) + epsilon;
    norm = decayed > fresh ? decayed : fresh;
    return w - step_size * first / norm;
  }
};

void adamax_step(const AdamaxStep& step, const UpdateTarget& target) {
  apply(AdamaxRule{step.step_size, step.fresh1, step.beta2, step.epsilon}, step.terms, target);
}

template <bool kCentered, bool kMomentum>
struct RmspropRule {
  static constexpr int kSlots = 1 + (kCentered ? 1 : 0) + (kMomentum ? 1 : 0);
  static constexpr bool kUsesGradient = true;
  float learning_rate, alpha, fresh, epsilon, momentum;
  float operator()(float w, float g, float& squares, float& second, float& third) const {
    squares = alpha * squares + fresh * g * g;
    float variance = squares;
    if constexpr (kCentered) {
      float& mean = second;
      mean += fresh * (g - mean);
      variance -= mean * mean;
      variance = variance < 0.0f ? 0.0f : variance;  // rounding
    }
    const float direction = g / (std::sqrt(variance) + epsilon);
    if constexpr (!kMomentum) return w - learning_rate * direction;
    float& buffer = kCentered ? third : second;
    buffer = momentum * buffer + direction;
    return w - learning_rate * buffer;
  }
};

template <bool kCentered, bool kMomentum>
static void apply_rmsprop(const RmspropStep& step, const UpdateTarget& target) {
  const RmspropRule<kCentered, kMomentum> rule{step.learning_rate, step.alpha, step.fresh, step.epsilon, step.momentum};
  apply(rule, step.terms, target);
}

void rmsprop_step(const RmspropStep& step, const UpdateTarget& target) {
  if (step.centered && step.has_momentum) return apply_rmsprop<true, true>(step, target);
  if (step.centered) return apply_rmsprop<true, false>(step, target);
  if (step.has_momentum) return apply_rmsprop<false, true>(step, target);
  apply_rmsprop<false, false>(step, target);
}

/// kRoot: the usual learning-rate power of -0.5.
template <bool kRoot>
struct FtrlRule {
  static constexpr int kSlots = 2;
  static constexpr bool kUsesGradient = true;
  float inverse_rate, l1, twice_l2, twice_shrinkage, power;

  float raised(float x) const { return kRoot ? std::sqrt(x) : __builtin_powf(x, -power); }

  float operator()(float w, float g, float& accumulator, float& linear, float&) const {
    const float next = accumulator + g * g;
    const float next_raised = raised(next);
    linear += g + twice_shrinkage * w - (next_raised - raised(accumulator)) * inverse_rate * w;
    accumulator = next;
    const float quadratic = next_raised * inverse_rate + twice_l2;
    float clipped = linear > l1 ? l1 : linear;
    clipped = clipped < -l1 ? -l1 : clipped;
    return (clipped - linear) / quadratic;
  }
};

template <bool kRoot>
static FtrlRule<kRoot> ftrl_rule(const FtrlStep& step) {
  return {step.inverse_rate, step.l1, step.twice_l2, step.twice_shrinkage, step.power};
}

void ftrl_step(const FtrlStep& step, const UpdateTarget& target) {
  if (step.power == -0.5f) return apply(ftrl_rule<true>(step), step.terms, target);
  apply(ftrl_rule<false>(step), step.terms, target);
}

}  // namespace thalweg::simd::TW_SIMD_NS
