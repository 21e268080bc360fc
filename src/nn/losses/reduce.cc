// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/losses/reduce.h"

#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/reduce.h"

namespace thalweg::losses {

void require_same_shape(const char* loss, const Value* prediction, const Value* target) {
  const Shape& a = prediction->shape();
  const Shape& b = target->shape();
  bool same = a.rank() == b.rank();
  for (int i = 0; same && i < a.rank(); ++i) same = a[i] == b[i] || a[i] == kFree || b[i] == kFree;
  TW_REQUIRE(same, loss, ": prediction ", prediction->type(), " and target ", target->type(), " differ in shape");
  TW_REQUIRE(prediction->dtype() == target->dtype(), loss, ": prediction ", prediction->type(), " and target ",
             target->type(), " differ in element type");
}

Value* reduce(Value* losses, Reduction reduction) {
  if (losses->dtype() != DType::kF64) losses = ops::cast(losses, DType::kF32);
  if (reduction == Reduction::kNone) return losses;
  return reduction == Reduction::kMean ? ops::reduce_mean(losses) : ops::reduce_sum(losses);
}

Value* positive_part(Value* x) { return ops::relu(x); }

}  // namespace thalweg::losses
