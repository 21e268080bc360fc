// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/optimizer_blocks.h"
#include "runtime/kernels/simd/optimizer_loops.h"

// The rules whose step depends on norms over the whole parameter, and the norms themselves.

namespace thalweg::simd::TW_SIMD_NS {

void sum_squares(const float* values, int64_t count, double* partial) {
  UpdateTarget target;
  target.count = count;
  const int64_t blocks = num_blocks(target);
#pragma omp parallel for schedule(static) if (count >= kThreadedElements)
  for (int64_t b = 0; b < blocks; ++b) {
    const float* block = values + b * kOptimizerBlock;
    const int64_t size = smaller(kOptimizerBlock, count - b * kOptimizerBlock);
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < size; ++i) {
      const double x = block[i];
      sum += x * x;
    }
    partial[b] = sum;
  }
}

void add_up_rows(const float* gradients, int64_t row_size, const int64_t* order, int64_t count, float* sum) {
  constexpr int64_t kStrip = 64;  // columns, four cache lines
  const int64_t strips = (row_size + kStrip - 1) / kStrip;
#pragma omp parallel for schedule(static)
  for (int64_t s = 0; s < strips; ++s) {
    const int64_t width = smaller(kStrip, row_size - s * kStrip);
    add_up_columns(gradients, row_size, order, count, s * kStrip, width, sum + s * kStrip);
  }
}

void lars_norms(const GradientTerms& terms, const UpdateTarget& target, double* value_squares,
                double* gradient_squares) {
  for_each_block(target, [&](const Block& block) {
    const float* value = block.value;
    const float* gradient = block.gradient;
    const GradientTerms local = terms;
    double value_sum = 0.0;
    double gradient_sum = 0.0;
#pragma omp simd reduction(+ : value_sum, gradient_sum)
    for (int64_t i = 0; i < block.count; ++i) {
      const double w = value[i];
      const double g = prepared_gradient(local, gradient[i], value[i]);
      value_sum += w * w;
      gradient_sum += g * g;
    }
    value_squares[block.index] += value_sum;
    gradient_squares[block.index] += gradient_sum;
  });
}

template <bool kNesterov>
struct LarsRule {
  static constexpr int kSlots = 1;
  static constexpr bool kUsesGradient = true;
  float rate, momentum;
  float operator()(float w, float g, float& velocity, float&, float&) const {
    const float fresh = rate * g;
    velocity = momentum * velocity + fresh;
    return w - (kNesterov ? fresh + momentum * velocity : velocity);
  }
};

void lars_step(const LarsStep& step, const UpdateTarget& target) {
  if (step.nesterov) return apply(LarsRule<true>{step.rate, step.momentum}, step.terms, target);
  apply(LarsRule<false>{step.rate, step.momentum}, step.terms, target);
}

static inline float lamb_direction(const LambStep& step, float w, float first, float second) {
  return step.first_scale * first / (std::sqrt(second) * step.root_scale + step.epsilon) + step.decay * w;
}

void lamb_moments(const LambStep& step, const UpdateTarget& target, double* value_squares, double* direction_squares) {
  for_each_block(target, [&](const Block& block) {
    const LambStep local = step;
    const float* __restrict value = block.value;
    const float* __restrict gradient = block.gradient;
    float* __restrict first = block.slots[0];
    float* __restrict second = block.slots[1];
    double value_sum = 0.0;
    double direction_sum = 0.0;
#pragma omp simd reduction(+ : value_sum, direction_sum)
    for (int64_t i = 0; i < block.count; ++i) {
      const float w = value[i];
      const float g = prepared_gradient(local.terms, gradient[i], w);
      const float m = first[i] + local.fresh1 * (g - first[i]);
      const float v = local.beta2 * second[i] + local.fresh2 * g * g;
      first[i] = m;
      second[i] = v;
      const double r = lamb_direction(local, w, m, v);
      value_sum += static_cast<double>(w) * w;
      direction_sum += r * r;
    }
    value_squares[block.index] += value_sum;
    direction_squares[block.index] += direction_sum;
  });
}

struct LambRule {
  static constexpr int kSlots = 2;
  static constexpr bool kUsesGradient = false;  // it is in the moments already
  LambStep step;
  float operator()(float w, float, float& first, float& second, float&) const {
    return w - step.rate * lamb_direction(step, w, first, second);
  }
};

void lamb_apply(const LambStep& step, const UpdateTarget& target) { apply(LambRule{step}, step.terms, target); }

}  // namespace thalweg::simd::TW_SIMD_NS
