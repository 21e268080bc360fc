// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/losses.h"
#include "thalweg/nn/detection.h"
#include "thalweg/ops.h"

namespace thalweg::nn {
namespace {

/// Per prior: what belongs to its object, or `otherwise` [..., 1 or as many numbers] where it has none.
Value* of_object(Value* by_object, Value* index, Value* has_object, Value* otherwise) {
  return ops::where(has_object, ops::gather_elements(by_object, index, 1), otherwise);
}

Value* as_number(Value* flags, Value* like) { return ops::cast(flags, like->dtype()); }

/// Codes [N, P, 4] of the boxes that the priors are to find; those of the priors themselves where there is none.
Value* place_targets(Value* boxes, Value* index, Value* has_object, Value* priors,
                     const std::vector<double>& variances) {
  Value* four = ops::tile(ops::unsqueeze(index, {-1}), {1, 1, 4});
  Value* wanted = of_object(boxes, four, ops::unsqueeze(has_object, {-1}), priors);
  return ops::encode_boxes(wanted, priors, variances);
}

}  // namespace

MultiboxLoss multibox_loss(const DetectionHeads& heads, Value* boxes, Value* kinds, const MultiboxOptions& options) {
  Graph& graph = heads.places->graph();
  const auto integer = [&](int64_t value) { return graph.constant(Tensor::scalar<int64_t>(value)); };
  Value* matches = ops::match_boxes(heads.priors, boxes, kinds, options.match);
  Value* has_object = ops::greater_equal(matches, integer(0));
  Value* index = ops::maximum(matches, integer(0));
  Value* positive = as_number(has_object, heads.places);
  Value* count = ops::reduce_sum(positive);
  Value* divisor = ops::maximum(count, ops::scalar_like(count, 1.0));

  Value* targets = place_targets(boxes, index, has_object, heads.priors, options.variances);
  Value* distance = losses::smooth_l1(heads.places, ops::stop_gradient(targets), 1.0, losses::Reduction::kNone);
  Value* places = ops::div(ops::reduce_sum(ops::mul(distance, ops::unsqueeze(positive, {-1}))), divisor);

  // Class 0 is the background.
  Value* labels = of_object(ops::add(kinds, integer(1)), index, has_object, integer(0));
  Value* entropy = ops::softmax_cross_entropy(ops::transpose(heads.logits, {0, 2, 1}), labels);
  Value* negative = as_number(ops::hard_negatives(ops::stop_gradient(entropy), matches, options.negatives), entropy);
  Value* classes =
      ops::div(ops::reduce_sum(ops::mul(entropy, ops::add(as_number(has_object, entropy), negative))), divisor);
  return {ops::add(ops::mul(places, options.place_weight), classes), places, classes, matches};
}

Value* detect(const DetectionHeads& heads, ops::DetectionOptions options, const std::vector<double>& variances) {
  TW_REQUIRE(variances.size() == 4, "boxes have 4 variances, not ", variances.size());
  options.classes = heads.logits->shape()[2];
  Value* scores = ops::flatten(ops::softmax(heads.logits, 2));
  Value* priors = ops::reshape(heads.priors, {1, 1, -1});
  std::vector<int64_t> repeats{1, 1, heads.priors->shape()[0]};
  TW_REQUIRE(repeats[2] != kFree, "the number of priors must be known");
  const Tensor four = Tensor::from<double>({1, 1, 4}, variances).to(heads.priors->dtype());
  Value* spread = ops::tile(heads.places->graph().constant(four), repeats);
  return ops::detection_output(ops::flatten(heads.places), scores, ops::concat({priors, spread}, 1), options);
}

}  // namespace thalweg::nn
