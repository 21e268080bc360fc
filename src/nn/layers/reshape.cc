// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/reshape.h"

#include "thalweg/ops/conv.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {

Value* Flatten::forward(const Scope& scope, Value* x) const {
  const Shape& given = x->shape();
  const int64_t rank = given.rank();
  const auto place = [&](int64_t dim) {
    scope.require(dim >= -rank && dim < rank, "Flatten", "there is no dimension ", dim, " in ", given);
    return dim < 0 ? dim + rank : dim;
  };
  const int64_t first = place(start_dim);
  const int64_t last = place(end_dim);
  scope.require(first <= last, "Flatten", "dimension ", start_dim, " comes after ", end_dim, " in ", given);
  std::vector<int64_t> shape(static_cast<size_t>(first), 0);
  int64_t product = 1;
  for (int64_t d = first; d <= last; ++d) {
    product = product == kFree || given[static_cast<int>(d)] == kFree ? kFree : product * given[static_cast<int>(d)];
  }
  // One dimension may be left for the reshape to find out: the flat one, unless another is free that has moved.
  bool left = product == kFree || last == rank - 1;
  shape.push_back(left ? -1 : product);
  for (int64_t d = last + 1; d < rank; ++d) {
    const int64_t size = given[static_cast<int>(d)];
    scope.require(size != kFree || !left, "Flatten", "too many dimensions of ", given, " are free");
    shape.push_back(size == kFree ? -1 : size);
    left = left || size == kFree;
  }
  return ops::reshape(x, shape);
}

Value* Reshape::forward(const Scope&, Value* x) const { return ops::reshape(x, shape); }

Value* Permute::forward(const Scope&, Value* x) const { return ops::transpose(x, dims); }

Value* Upsample::forward(const Scope& scope, Value* x) const {
  const int rank = x->shape().rank() - 2;
  scope.require(rank >= 1 && rank <= 3, "Upsample", "takes [N, C] and 1 to 3 spatial dimensions, got ", x->shape());
  scope.require(options_.size.has_value() != options_.scale_factor.has_value(), "Upsample",
                "needs either a size or a scale factor");
  std::vector<int64_t> size;
  if (options_.size) {
    size = options_.size->expand(rank, "size");
  } else {
    size = options_.scale_factor->expand(rank, "scale_factor");
    for (int i = 0; i < rank; ++i) {
      scope.require(x->shape()[i + 2] != kFree, "Upsample", "a scale factor needs known extents, got ", x->shape());
      size[static_cast<size_t>(i)] *= x->shape()[i + 2];
    }
  }
  const std::string& mode = options_.mode;
  if (mode == "nearest") return ops::interpolate(x, size, mode, "asymmetric", scope.path());
  const char* coordinates = options_.align_corners ? "align_corners" : "half_pixel";
  if (mode == "bicubic") return ops::interpolate(x, size, "cubic", coordinates, scope.path());
  const bool linear = mode == "linear" || mode == "bilinear" || mode == "trilinear";
  scope.require(linear, "Upsample", "there is no mode '", mode, "'");
  return ops::interpolate(x, size, "linear", coordinates, scope.path());
}

Value* Pad::forward(const Scope& scope, Value* x) const {
  const auto rank = static_cast<size_t>(x->shape().rank());
  scope.require(padding_.size() % 2 == 0 && padding_.size() / 2 <= rank, "Pad", padding_.size(),
                " numbers do not pad the dimensions of ", x->shape());
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < padding_.size() / 2; ++i) {
    pads[rank - 1 - i] = padding_[2 * i];
    pads[2 * rank - 1 - i] = padding_[2 * i + 1];
  }
  return ops::pad(x, pads, mode_ == "replicate" ? "edge" : mode_, value_);
}

}  // namespace thalweg::nn
