// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Losses between probabilities, or against given ones.
#include "nn/losses/reduce.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/reduce.h"

namespace thalweg::losses {
namespace {

/// log(x), at least -100. The smallest normal f32 stands in below it, because the gradient of log must stay finite too.
Value* cut_log(Value* x) {
  Value* smallest = ops::scalar_like(x, 1.2e-38);
  Value* cut = ops::scalar_like(x, -100.0);
  Value* log = ops::maximum(ops::log(ops::maximum(x, smallest)), cut);
  return ops::where(ops::less(x, smallest), cut, log);
}

/// t * log(t), 0 at 0.
Value* entropy_term(Value* target) {
  Value* safe = ops::maximum(target, ops::scalar_like(target, 1.2e-38));
  return ops::mul(target, ops::log(safe));
}

/// log(1 + exp(-|x|)): never overflows.
Value* log1p_exp_neg_abs(Value* x) { return ops::softplus(ops::neg(ops::abs(x))); }

Value* bce_with_logits_each(Value* logits, Value* target, Value* pos_weight) {
  if (pos_weight == nullptr) {
    Value* linear = ops::sub(ops::relu(logits), ops::mul(logits, target));
    return ops::add(linear, log1p_exp_neg_abs(logits));
  }
  // (1 - t) x + (1 + (w - 1) t) * (log(1 + exp(-|x|)) + max(-x, 0))
  Value* factor = ops::add(ops::mul(ops::sub(pos_weight, 1.0), target), 1.0);
  Value* tail = ops::add(log1p_exp_neg_abs(logits), ops::relu(ops::neg(logits)));
  return ops::add(ops::mul(ops::rsub(1.0, target), logits), ops::mul(factor, tail));
}

}  // namespace

Value* bce(Value* probabilities, Value* target, Reduction reduction) {
  require_same_shape("bce", probabilities, target);
  Value* hit = ops::mul(target, cut_log(probabilities));
  Value* miss = ops::mul(ops::rsub(1.0, target), cut_log(ops::rsub(1.0, probabilities)));
  return reduce(ops::neg(ops::add(hit, miss)), reduction);
}

Value* bce_with_logits(Value* logits, Value* target, const BceWithLogitsOptions& options) {
  require_same_shape("bce_with_logits", logits, target);
  return reduce(bce_with_logits_each(logits, target, options.pos_weight), options.reduction);
}

Value* multilabel_soft_margin(Value* scores, Value* target, Reduction reduction) {
  require_same_shape("multilabel_soft_margin", scores, target);
  return reduce(ops::reduce_mean(bce_with_logits_each(scores, target, nullptr), {-1}), reduction);
}

Value* kl_div(Value* log_probabilities, Value* target, const KlDivOptions& options) {
  require_same_shape("kl_div", log_probabilities, target);
  Value* losses = nullptr;
  if (options.log_target) {
    losses = ops::mul(ops::exp(target), ops::sub(target, log_probabilities));
  } else {
    losses = ops::sub(entropy_term(target), ops::mul(target, log_probabilities));
  }
  if (!options.batch_mean || options.reduction != Reduction::kMean) return reduce(losses, options.reduction);
  std::vector<int64_t> axes;
  for (int i = 1; i < losses->shape().rank(); ++i) axes.push_back(i);
  return reduce(axes.empty() ? losses : ops::reduce_sum(losses, axes), Reduction::kMean);
}

Value* poisson_nll(Value* input, Value* target, const PoissonNllOptions& options) {
  require_same_shape("poisson_nll", input, target);
  if (options.log_input) return reduce(ops::sub(ops::exp(input), ops::mul(target, input)), options.reduction);
  Value* log_rate = ops::log(ops::add(input, options.eps));
  return reduce(ops::sub(input, ops::mul(target, log_rate)), options.reduction);
}

Value* gaussian_nll(Value* prediction, Value* target, Value* variance, double eps, Reduction reduction) {
  require_same_shape("gaussian_nll", prediction, target);
  require_same_shape("gaussian_nll", prediction, variance);
  Value* safe = ops::maximum(variance, ops::scalar_like(variance, eps));
  Value* error = ops::div(ops::square(ops::sub(prediction, target)), safe);
  return reduce(ops::mul(ops::add(ops::log(safe), error), 0.5), reduction);
}

Value* dice(Value* probabilities, Value* target, double smooth, Reduction reduction) {
  require_same_shape("dice", probabilities, target);
  TW_REQUIRE(probabilities->shape().rank() >= 2, "dice: takes [N, ...], got ", probabilities->type());
  std::vector<int64_t> axes;
  for (int i = 1; i < probabilities->shape().rank(); ++i) axes.push_back(i);
  Value* overlap = ops::reduce_sum(ops::mul(probabilities, target), axes);
  Value* total = ops::reduce_sum(ops::add(probabilities, target), axes);
  Value* share = ops::div(ops::add(ops::mul(overlap, 2.0), smooth), ops::add(total, smooth));
  return reduce(ops::rsub(1.0, share), reduction);
}

}  // namespace thalweg::losses
