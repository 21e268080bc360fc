// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Losses against class numbers.
#include "nn/losses/reduce.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/norm.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/shape.h"

namespace thalweg::losses {
namespace {

void check_labels(const char* loss, const Value* scores, const Value* labels) {
  TW_REQUIRE(labels->dtype() == DType::kI64 || labels->dtype() == DType::kI32, loss,
             ": labels are class numbers (i64 or i32), got ", labels->type());
  TW_REQUIRE(scores->shape().rank() >= 2 && labels->shape().rank() == scores->shape().rank() - 1, loss, ": scores ",
             scores->type(), " [N, C, ...] do not fit labels ", labels->type(), " [N, ...]");
}

Value* integer_like(Value* labels, int64_t value) {
  return labels->graph().constant(Tensor::scalar<int64_t>(value).to(labels->dtype()));
}

/// How much each sample counts: its class's weight, 0 if ignored; null if all count the same.
Value* sample_weights(Value* losses, Value* labels, Value* class_weight, const std::optional<int64_t>& ignored) {
  Value* weights = nullptr;
  Value* counted = nullptr;
  if (ignored) counted = ops::logical_not(ops::equal(labels, integer_like(labels, *ignored)));
  if (class_weight != nullptr) {
    Value* classes = ignored ? ops::where(counted, labels, integer_like(labels, 0)) : labels;
    weights = ops::gather(ops::cast(class_weight, losses->dtype()), classes, 0);
  }
  if (!ignored) return weights;
  Value* mask = ops::cast(counted, losses->dtype());
  return weights == nullptr ? mask : ops::mul(weights, mask);
}

Value* weighted(Value* losses, Value* weights, Reduction reduction) {
  if (weights == nullptr) return reduce(losses, reduction);
  Value* scaled = ops::mul(losses, weights);
  if (reduction != Reduction::kMean) return reduce(scaled, reduction);
  return ops::div(ops::reduce_sum(scaled), ops::reduce_sum(weights));
}

/// scores[n, labels[n, ...], ...].
Value* pick(Value* scores, Value* labels) {
  return ops::squeeze(ops::gather_elements(scores, ops::unsqueeze(labels, {1}), 1), {1});
}

/// The labels with 0 for those that are ignored, so that they can be looked up.
Value* known_labels(Value* labels, const std::optional<int64_t>& ignored) {
  if (!ignored) return labels;
  return ops::where(ops::equal(labels, integer_like(labels, *ignored)), integer_like(labels, 0), labels);
}

/// Cross entropy with a weight for each class and smoothed labels, which the fused op does not have.
Value* smoothed_and_weighted(Value* logits, Value* labels, const CrossEntropyOptions& options) {
  const int64_t classes = logits->shape()[1];
  TW_REQUIRE(classes != kFree, "cross_entropy: smoothed labels with class weights need a known number of classes, got ",
             logits->type());
  Value* surprise = ops::neg(ops::log_softmax(logits, 1));
  std::vector<int64_t> along_classes(static_cast<size_t>(logits->shape().rank()), 1);
  along_classes[1] = classes;
  Value* per_class = ops::reshape(ops::cast(options.weight, surprise->dtype()), along_classes);
  Value* of_all = ops::reduce_sum(ops::mul(surprise, per_class), {1});
  Value* weights = sample_weights(of_all, labels, options.weight, options.ignore_index);
  if (options.ignore_index) {
    Value* ignored = ops::equal(labels, integer_like(labels, *options.ignore_index));
    of_all = ops::mul(of_all, ops::cast(ops::logical_not(ignored), of_all->dtype()));
  }
  Value* of_own = ops::mul(pick(surprise, known_labels(labels, options.ignore_index)), weights);
  Value* losses = ops::add(ops::mul(of_own, 1.0 - options.label_smoothing),
                           ops::mul(of_all, options.label_smoothing / static_cast<double>(classes)));
  if (options.reduction != Reduction::kMean) return reduce(losses, options.reduction);
  return ops::div(ops::reduce_sum(losses), ops::reduce_sum(weights));
}

}  // namespace

Value* cross_entropy(Value* logits, Value* labels, const CrossEntropyOptions& options) {
  check_labels("cross_entropy", logits, labels);
  if (options.weight != nullptr && options.label_smoothing > 0) return smoothed_and_weighted(logits, labels, options);
  Value* losses =
      ops::softmax_cross_entropy(logits, labels, options.ignore_index.value_or(-100), options.label_smoothing);
  return weighted(losses, sample_weights(losses, labels, options.weight, options.ignore_index), options.reduction);
}

Value* nll(Value* log_probabilities, Value* labels, const NllOptions& options) {
  check_labels("nll", log_probabilities, labels);
  Value* losses = ops::neg(pick(log_probabilities, known_labels(labels, options.ignore_index)));
  return weighted(losses, sample_weights(losses, labels, options.weight, options.ignore_index), options.reduction);
}

Value* multi_margin(Value* scores, Value* labels, int64_t p, double margin, Reduction reduction) {
  check_labels("multi_margin", scores, labels);
  TW_REQUIRE(scores->shape().rank() == 2 && scores->shape()[1] > 0, "multi_margin: scores must be [N, C], got ",
             scores->type());
  TW_REQUIRE(p == 1 || p == 2, "multi_margin: p is ", p, ", not 1 or 2");
  Value* own = ops::gather_elements(scores, ops::unsqueeze(labels, {1}), 1);
  Value* violation = positive_part(ops::add(ops::sub(scores, own), margin));
  if (p == 2) violation = ops::square(violation);
  // The own class is in the sum with exactly margin^p, which is not meant.
  const double self = p == 2 ? margin * margin : margin;
  const auto classes = static_cast<double>(scores->shape()[1]);
  return reduce(ops::mul(ops::sub(ops::reduce_sum(violation, {1}), self), 1.0 / classes), reduction);
}

}  // namespace thalweg::losses
