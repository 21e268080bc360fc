// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

inline constexpr int kMaxSlots = 3;
/// Elements that one thread takes at a time from a dense parameter; also the unit of the partial
/// sums of norms.
inline constexpr int64_t kOptimizerBlock = 16384;

/// Below this many elements, waking the other threads costs more than it saves.
inline constexpr int64_t kThreadedElements = 32768;

/// Which rows of a table are updated. `rows` is ascending without repetition. The gradient of
/// rows[i] is ready[i], or, where that is null, the sum, in this order, of the rows order[first[i]]
/// ... order[first[i + 1] - 1] of UpdateTarget::gradient.
struct RowList {
  const int64_t* rows = nullptr;
  const float* const* ready = nullptr;
  const int64_t* first = nullptr;
  const int64_t* order = nullptr;
  int64_t count = 0;
  int64_t row_size = 0;
};

/// The arrays of one parameter. Slots that the rule does not have, `bf16_copy` and `rows` may be
/// null.
struct UpdateTarget {
  float* value = nullptr;
  const float* gradient = nullptr;
  float* slots[kMaxSlots] = {};
  uint16_t* bf16_copy = nullptr;
  int64_t count = 0;
  const RowList* rows = nullptr;
};

/// How many partial sums a norm over `target` has.
inline int64_t num_blocks(const UpdateTarget& target) {
  if (target.rows != nullptr) return target.rows->count;
  return (target.count + kOptimizerBlock - 1) / kOptimizerBlock;
}

/// What every rule does to the gradient first: g = clip(gradient * scale) + l2 * w + l1 * sign(w).
struct GradientTerms {
  float scale = 1.0f;
  float clip = std::numeric_limits<float>::infinity();
  float l1 = 0.0f;
  float l2 = 0.0f;
};

// The constants of one step of one parameter; the formulas stand in optimizer_loops.cc.

struct SgdStep {
  GradientTerms terms;
  float learning_rate, momentum, fresh;
  bool nesterov, has_momentum;
};

struct AdagradStep {
  GradientTerms terms;
  float learning_rate, epsilon;
};

struct AdadeltaStep {
  GradientTerms terms;
  float learning_rate, rho, fresh, epsilon;
};

struct AdamStep {
  GradientTerms terms;
  float step_size;  // learning rate / bias correction of the first moment
  float keep;       // 1 - learning rate * decoupled weight decay
  float fresh1, beta2, fresh2, root_scale, epsilon;
  bool amsgrad;
};

struct AdamaxStep {
  GradientTerms terms;
  float step_size, fresh1, beta2, epsilon;
};

struct RmspropStep {
  GradientTerms terms;
  float learning_rate, alpha, fresh, epsilon, momentum;
  bool centered, has_momentum;
};

struct FtrlStep {
  GradientTerms terms;
  float inverse_rate, l1, twice_l2, twice_shrinkage, power;
};

struct LarsStep {
  GradientTerms terms;  // l2 holds the weight decay
  float rate;           // learning rate * trust ratio
  float momentum;
  bool nesterov;
};

struct LambStep {
  GradientTerms terms;
  float rate;  // learning rate * trust ratio, for the second pass
  float fresh1, beta2, fresh2, first_scale, root_scale, epsilon, decay;
};

// One pass over the memory of a parameter each. The slots are, in this order:
// sgd: momentum; adagrad: sum; adadelta: square average, delta average; adam: first moment, second
// moment, largest second moment; adamax: first moment, infinity norm; rmsprop: square average,
// gradient average (if centered), momentum (if there is any); ftrl: accumulator, linear; lars:
// velocity; lamb: first moment, second moment.
TW_SIMD_FUNCTION(sgd_step, (const SgdStep& step, const UpdateTarget& target), (step, target));
TW_SIMD_FUNCTION(adagrad_step, (const AdagradStep& step, const UpdateTarget& target), (step, target));
TW_SIMD_FUNCTION(adadelta_step, (const AdadeltaStep& step, const UpdateTarget& target), (step, target));
TW_SIMD_FUNCTION(adam_step, (const AdamStep& step, const UpdateTarget& target), (step, target));
TW_SIMD_FUNCTION(adamax_step, (const AdamaxStep& step, const UpdateTarget& target), (step, target));
TW_SIMD_FUNCTION(rmsprop_step, (const RmspropStep& step, const UpdateTarget& target), (step, target));
TW_SIMD_FUNCTION(ftrl_step, (const FtrlStep& step, const UpdateTarget& target), (step, target));

// The layer-wise rules need norms first. These fill two arrays of num_blocks(target) partial sums
// of squares, which the caller zeroes before and adds up in order, so that the result does not
// depend on the number of threads.
TW_SIMD_FUNCTION(lars_norms,
                 (const GradientTerms& terms, const UpdateTarget& target, double* value_squares,
                  double* gradient_squares),
                 (terms, target, value_squares, gradient_squares));
TW_SIMD_FUNCTION(lars_step, (const LarsStep& step, const UpdateTarget& target), (step, target));
/// Updates the moments and measures the value and the direction that lamb_apply will subtract.
TW_SIMD_FUNCTION(lamb_moments,
                 (const LambStep& step, const UpdateTarget& target, double* value_squares, double* direction_squares),
                 (step, target, value_squares, direction_squares));
TW_SIMD_FUNCTION(lamb_apply, (const LambStep& step, const UpdateTarget& target), (step, target));

/// sum = the rows order[0] ... order[count - 1] of `gradients`, added up in this order, by several
/// threads.
TW_SIMD_FUNCTION(add_up_rows,
                 (const float* gradients, int64_t row_size, const int64_t* order, int64_t count, float* sum),
                 (gradients, row_size, order, count, sum));

/// Partial sums of squares of `count` values, one for each kOptimizerBlock of them.
TW_SIMD_FUNCTION(sum_squares, (const float* values, int64_t count, double* partial), (values, count, partial));

}  // namespace thalweg::simd
