// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/losses.h"
#include "thalweg/nn/yolact.h"
#include "thalweg/ops.h"

namespace thalweg::nn {
namespace {

/// Masks of 0 and 1 in another size.
Value* resized(Value* masks, const Value* like) {
  Value* values = ops::interpolate(masks, {like->shape()[2], like->shape()[3]}, "linear", "half_pixel");
  return ops::cast(ops::greater(values, ops::scalar_like(values, 0.5)), masks->dtype());
}

/// The priors of each picture that have an object, the first `most` of them.
struct Chosen {
  Value *numbers, *objects;  ///< [N, K], of priors and of their objects
  Value* used;               ///< f32 [N, K]: 0 where there are fewer
  Value* share;              ///< f32 [N]: how many there are for each that was chosen
};

Chosen choose(Value* matches, Value* like, int64_t most) {
  Graph& graph = matches->graph();
  Value* zero = graph.constant(Tensor::scalar<int64_t>(0));
  Value* has_object = ops::cast(ops::greater_equal(matches, zero), like->dtype());
  const ops::TopK first = ops::top_k(has_object, std::min(most, matches->shape()[1]), 1);
  Value* objects = ops::maximum(ops::gather_elements(matches, first.indices, 1), zero);
  Value *all = ops::reduce_sum(has_object, {1}), *used = ops::reduce_sum(first.values, {1});
  return {first.indices, objects, first.values, ops::div(all, ops::maximum(used, ops::scalar_like(used, 1.0)))};
}

/// Binary cross entropy of the assembled masks inside of their objects' boxes, by the area of those: of each picture.
Value* mask_losses(const YolactHeads& heads, const Chosen& chosen, Value* boxes, Value* masks) {
  Value* own = ops::rows_of(boxes, chosen.objects);
  const int64_t height = heads.prototypes->shape()[2], width = heads.prototypes->shape()[3];
  Value* flat = ops::reshape(resized(masks, heads.prototypes), {0, 0, height * width});
  Value* wanted = ops::reshape(ops::rows_of(flat, chosen.objects), {0, 0, height, width});
  Value* said = ops::assemble_masks(heads.prototypes, ops::rows_of(heads.coefficients, chosen.numbers));
  Value* losses = losses::bce(ops::crop_masks(said, own), wanted, losses::Reduction::kNone);
  const std::vector<Value*> corners = ops::split(own, {2, 2}, 2);
  Value* extents = ops::sub(corners[1], corners[0]);
  Value* area = ops::mul(ops::reduce_prod(extents, {2}), static_cast<double>(height * width));
  Value* by_area = ops::div(ops::reduce_sum(losses, {2, 3}), ops::maximum(area, ops::scalar_like(area, 1e-6)));
  return ops::mul(ops::reduce_sum(ops::mul(by_area, chosen.used), {1}), chosen.share);
}

/// Whether an object of each class covers each place, [N, C, h, w].
Value* class_maps(Value* kinds, Value* masks, int64_t classes) {
  std::vector<int64_t> numbers(static_cast<size_t>(classes));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  Value* each = kinds->graph().constant(Tensor::from<int64_t>({1, classes, 1}, numbers));
  Value* is_class = ops::cast(ops::equal(ops::unsqueeze(kinds, {1}), each), masks->dtype());
  const int64_t height = masks->shape()[2], width = masks->shape()[3];
  Value* count = ops::matmul(is_class, ops::reshape(masks, {0, 0, height * width}));
  return ops::reshape(ops::clip(count, 0.0, 1.0), {0, 0, height, width});
}

}  // namespace

YolactLoss yolact_loss(const YolactHeads& heads, Value* boxes, Value* kinds, Value* masks,
                       const YolactLossOptions& options) {
  MultiboxOptions multibox;
  multibox.match = options.match;
  multibox.negatives = options.negatives;
  const MultiboxLoss base = multibox_loss(heads.boxes, boxes, kinds, multibox);
  Value* zero = kinds->graph().constant(Tensor::scalar<int64_t>(0));
  Value* found = ops::cast(ops::greater_equal(base.matches, zero), boxes->dtype());
  Value* count = ops::reduce_sum(found);
  const Chosen chosen = choose(base.matches, boxes, options.most_masks);
  Value* outlines = ops::div(ops::reduce_sum(mask_losses(heads, chosen, boxes, masks)),
                             ops::maximum(count, ops::scalar_like(count, 1.0)));
  Value* maps = class_maps(kinds, resized(masks, heads.segments), heads.segments->shape()[1]);
  Value* entropy = losses::bce_with_logits(heads.segments, maps, {.reduction = losses::Reduction::kNone});
  // The mean over places and pictures of the sum over classes.
  Value* segments = ops::reduce_mean(ops::reduce_sum(entropy, {1}));
  YolactLoss loss{};
  loss.places = ops::mul(base.places, options.place_weight);
  loss.classes = ops::mul(base.classes, options.class_weight);
  loss.masks = ops::mul(outlines, options.mask_weight);
  loss.segments = ops::mul(segments, options.segment_weight);
  loss.total = ops::add(ops::add(loss.places, loss.classes), ops::add(loss.masks, loss.segments));
  return loss;
}

}  // namespace thalweg::nn
