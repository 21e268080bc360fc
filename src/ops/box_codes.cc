// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What is said about boxes by other ops: codes relative to priors, and how much they overlap.
#include "thalweg/ops.h"
#include "thalweg/ops/detection.h"

namespace thalweg::ops {
namespace {

/// The two halves of the last dimension, left and top before right and bottom.
struct Corners {
  Value *first, *last;
};

Corners corners_of(Value* boxes) {
  const std::vector<Value*> halves = split(boxes, {2, 2}, -1);
  return {halves[0], halves[1]};
}

/// Two of the four variances, in the element type of `like`.
Value* two_of(Value* like, const std::vector<double>& variances, size_t first) {
  TW_REQUIRE(variances.size() == 4, "boxes have 4 variances, not ", variances.size());
  const std::vector<double> two{variances[first], variances[first + 1]};
  return like->graph().constant(Tensor::from<double>({2}, two).to(like->dtype()));
}

/// What `body` gives for each edge of `a` with each of `b`, whose boxes come to lie along different dimensions.
Value* against(Value* a, Value* b, Value* (*body)(Value*, Value*, const std::string&)) {
  return body(unsqueeze(a, {-2}), unsqueeze(b, {-3}), "");
}

Value* area_of(const Corners& corners) {
  Value* extents = relu(sub(corners.last, corners.first));
  return reduce_prod(extents, {-1});
}

}  // namespace

Value* encode_boxes(Value* boxes, Value* priors, const std::vector<double>& variances) {
  const Corners box = corners_of(boxes), prior = corners_of(priors);
  Value* extent = sub(prior.last, prior.first);
  Value* shift = mul(sub(add(box.first, box.last), add(prior.first, prior.last)), 0.5);
  Value* middle = div(div(shift, extent), two_of(boxes, variances, 0));
  Value* size = div(log(div(sub(box.last, box.first), extent)), two_of(boxes, variances, 2));
  return concat({middle, size}, -1);
}

Value* decode_boxes(Value* codes, Value* priors, const std::vector<double>& variances) {
  const Corners code = corners_of(codes), prior = corners_of(priors);
  Value* extent = sub(prior.last, prior.first);
  Value* prior_middle = mul(add(prior.first, prior.last), 0.5);
  Value* middle = add(mul(mul(code.first, two_of(codes, variances, 0)), extent), prior_middle);
  Value* half = mul(mul(exp(mul(code.last, two_of(codes, variances, 2))), extent), 0.5);
  return concat({sub(middle, half), add(middle, half)}, -1);
}

Value* iou_matrix(Value* a, Value* b) {
  const Corners one = corners_of(a), other = corners_of(b);
  Value* both = area_of({against(one.first, other.first, maximum), against(one.last, other.last, minimum)});
  Value* all = sub(add(unsqueeze(area_of(one), {-1}), unsqueeze(area_of(other), {-2})), both);
  // Boxes without area have none in common either.
  return div(both, maximum(all, scalar_like(all, 1e-30)));
}

}  // namespace thalweg::ops
