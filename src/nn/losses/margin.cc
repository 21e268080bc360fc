// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Losses that want a distance or a margin.
#include "nn/losses/reduce.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/shape.h"

namespace thalweg::losses {
namespace {

Value* margin_violation(Value* prediction, Value* target, double margin) {
  return positive_part(ops::rsub(margin, ops::mul(target, prediction)));
}

/// Both branches of a loss for targets of 1 and -1.
Value* by_sign(Value* target, Value* positive, Value* negative) {
  return ops::where(ops::greater(target, ops::scalar_like(target, 0.0)), positive, negative);
}

/// |a - b| over the last dimension; the small number keeps the gradient of a zero distance finite, as in PyTorch.
Value* distance(Value* a, Value* b) {
  Value* difference = ops::add(ops::sub(a, b), 1e-6);
  return ops::sqrt(ops::reduce_sum(ops::square(difference), {-1}));
}

}  // namespace

Value* hinge(Value* prediction, Value* target, double margin, Reduction reduction) {
  require_same_shape("hinge", prediction, target);
  return reduce(margin_violation(prediction, target, margin), reduction);
}

Value* squared_hinge(Value* prediction, Value* target, double margin, Reduction reduction) {
  require_same_shape("squared_hinge", prediction, target);
  return reduce(ops::square(margin_violation(prediction, target, margin)), reduction);
}

Value* hinge_embedding(Value* x, Value* target, double margin, Reduction reduction) {
  require_same_shape("hinge_embedding", x, target);
  return reduce(by_sign(target, x, positive_part(ops::rsub(margin, x))), reduction);
}

Value* soft_margin(Value* prediction, Value* target, Reduction reduction) {
  require_same_shape("soft_margin", prediction, target);
  return reduce(ops::softplus(ops::neg(ops::mul(target, prediction))), reduction);
}

Value* margin_ranking(Value* x1, Value* x2, Value* target, double margin, Reduction reduction) {
  require_same_shape("margin_ranking", x1, x2);
  require_same_shape("margin_ranking", x1, target);
  return reduce(margin_violation(ops::sub(x1, x2), target, margin), reduction);
}

Value* multilabel_margin(Value* scores, Value* target, Reduction reduction) {
  require_same_shape("multilabel_margin", scores, target);
  TW_REQUIRE(scores->shape().rank() == 2 && scores->shape()[1] > 0, "multilabel_margin: scores must be [N, C], got ",
             scores->type());
  Value* holds = ops::unsqueeze(target, {2});                  // [N, C, 1]
  Value* fails = ops::unsqueeze(ops::rsub(1.0, target), {1});  // [N, 1, C]
  Value* gaps = ops::sub(ops::unsqueeze(scores, {1}), ops::unsqueeze(scores, {2}));
  Value* pairs = ops::mul(ops::mul(holds, fails), positive_part(ops::add(gaps, 1.0)));
  const double classes = static_cast<double>(scores->shape()[1]);
  return reduce(ops::mul(ops::reduce_sum(pairs, {1, 2}), 1.0 / classes), reduction);
}

Value* cosine_embedding(Value* x1, Value* x2, Value* target, double margin, Reduction reduction) {
  require_same_shape("cosine_embedding", x1, x2);
  TW_REQUIRE(x1->shape().rank() == 2 && target->shape().rank() == 1,
             "cosine_embedding: takes [N, D], [N, D] and [N], got ", x1->type(), ", ", x2->type(), " and ",
             target->type());
  constexpr double kEpsilon = 1e-12;
  Value* product = ops::reduce_sum(ops::mul(x1, x2), {1});
  Value* first = ops::add(ops::reduce_sum(ops::square(x1), {1}), kEpsilon);
  Value* second = ops::add(ops::reduce_sum(ops::square(x2), {1}), kEpsilon);
  Value* cosine = ops::mul(product, ops::rsqrt(ops::mul(first, second)));
  return reduce(by_sign(target, ops::rsub(1.0, cosine), positive_part(ops::sub(cosine, margin))), reduction);
}

Value* triplet_margin(Value* anchor, Value* positive, Value* negative, double margin, Reduction reduction) {
  require_same_shape("triplet_margin", anchor, positive);
  require_same_shape("triplet_margin", anchor, negative);
  Value* gap = ops::sub(distance(anchor, positive), distance(anchor, negative));
  return reduce(positive_part(ops::add(gap, margin)), reduction);
}

}  // namespace thalweg::losses
