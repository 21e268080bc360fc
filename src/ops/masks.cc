// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/masks.h"

#include <algorithm>

#include "thalweg/ops.h"
#include "thalweg/ops/detection.h"

namespace thalweg::ops {
namespace {

int64_t known(const Value* x, int dimension, const char* what) {
  const int64_t extent = x->shape()[dimension];
  TW_REQUIRE(extent != kFree, "the number of ", what, " must be known, in ", x->shape());
  return extent;
}

/// 1 above the diagonal: what is better than what.
Value* upper_triangle(Value* like, int64_t size) {
  Tensor ones = Tensor::zeros(DType::kF32, {size, size});
  for (int64_t i = 0; i < size; ++i) std::fill_n(ones.data<float>() + i * size + i + 1, size - i - 1, 1.0F);
  return like->graph().constant(ones.to(like->dtype()));
}

/// Whether the middle of each of `size` elements along one axis lies between `low` and `high` [N, K, 1, 1], in shares.
Value* between(Value* low, Value* high, int64_t size, double padding, const std::vector<int64_t>& shape) {
  std::vector<double> numbers(static_cast<size_t>(size));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  Value* places = low->graph().constant(Tensor::from<double>(Shape(shape), numbers).to(low->dtype()));
  const auto extent = static_cast<double>(size);
  Value* first = sub(mul(minimum(low, high), extent), padding);
  Value* last = add(mul(maximum(low, high), extent), padding);
  return logical_and(greater_equal(places, first), less(places, last));
}

}  // namespace

Value* rows_of(Value* x, Value* numbers) {
  Value* index = tile(unsqueeze(numbers, {-1}), {1, 1, known(x, 2, "columns")});
  return gather_elements(x, index, 1);
}

FastNms fast_nms(Value* boxes, Value* scores, const FastNmsOptions& options) {
  const int64_t count = known(scores, 2, "boxes"), classes = known(scores, 1, "classes");
  const int64_t candidates = std::min(options.candidates, count);
  const TopK best = top_k(scores, candidates, 2);
  Value* numbers = reshape(best.indices, {0, classes * candidates});
  Value* own = reshape(rows_of(boxes, numbers), {0, classes, candidates, 4});
  Value* overlaps = mul(iou_matrix(own, own), upper_triangle(own, candidates));
  Value* worst = reduce_max(overlaps, {2});
  Value* free = less_equal(worst, scalar_like(worst, options.overlap_threshold));
  Value* good = greater(best.values, scalar_like(best.values, options.score_threshold));
  Value* kept = where(logical_and(free, good), best.values, scalar_like(best.values, 0.0));
  const TopK found = top_k(reshape(kept, {0, classes * candidates}), std::min(options.keep, classes * candidates), 1);
  Value* each = boxes->graph().constant(Tensor::scalar<int64_t>(candidates));
  return {found.values, div(found.indices, each), gather_elements(numbers, found.indices, 1)};
}

Value* assemble_masks(Value* prototypes, Value* coefficients) {
  const int64_t height = known(prototypes, 2, "rows"), width = known(prototypes, 3, "columns");
  Value* flat = reshape(prototypes, {0, 0, height * width});
  return sigmoid(reshape(matmul(coefficients, flat), {0, 0, height, width}));
}

Value* crop_masks(Value* masks, Value* boxes, double padding) {
  const int64_t height = known(masks, 2, "rows"), width = known(masks, 3, "columns");
  // Left, top, right and bottom, each [N, K, 1, 1].
  const std::vector<Value*> edges = split(unsqueeze(boxes, {-1}), {1, 1, 1, 1}, 2);
  Value* columns = between(edges[0], edges[2], width, padding, {1, 1, 1, width});
  Value* rows = between(edges[1], edges[3], height, padding, {1, 1, height, 1});
  return mul(masks, cast(logical_and(rows, columns), masks->dtype()));
}

}  // namespace thalweg::ops
