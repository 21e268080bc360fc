// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/host_arrays.h"

#include <cstring>

namespace thalweg {
namespace {

/// Bytes of everything behind `axis`.
size_t bytes_behind(const Tensor& x, int axis) {
  return static_cast<size_t>(x.shape().num_elements(axis + 1, x.shape().rank())) * size_of(x.dtype());
}

}  // namespace

int checked_axis(int64_t axis, int rank) {
  TW_REQUIRE(axis >= -rank && axis < rank, "axis ", axis, " does not exist; there are ", rank, " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Tensor take(const Tensor& x, int axis, const std::vector<int64_t>& kept) {
  const size_t inner = bytes_behind(x, axis);
  const int64_t outer = x.shape().num_elements(0, axis), size = x.shape()[axis];
  Shape shape = x.shape();
  shape[axis] = static_cast<int64_t>(kept.size());
  Tensor result(x.dtype(), shape);
  auto* out = static_cast<char*>(result.raw());
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : kept) {
      std::memcpy(out, static_cast<const char*>(x.raw()) + static_cast<size_t>(o * size + index) * inner, inner);
      out += inner;
    }
  }
  return result;
}

Tensor join(const std::vector<Tensor>& parts, int axis) {
  TW_REQUIRE(!parts.empty(), "there is nothing to join");
  Shape whole = parts[0].shape();
  TW_REQUIRE(axis >= 0 && axis < whole.rank(), "axis ", axis, " of a result does not exist");
  int64_t total = 0;
  for (const Tensor& part : parts) {
    Shape like = part.shape();
    TW_REQUIRE(like.rank() == whole.rank() && part.dtype() == parts[0].dtype(), "parts differ in type, ",
               parts[0].type(), " and ", part.type());
    total += like[axis];
    like[axis] = whole[axis];
    TW_REQUIRE(like == whole, "parts of shapes ", parts[0].shape(), " and ", part.shape(), " do not fit");
  }
  whole[axis] = total;
  Tensor result(parts[0].dtype(), whole);
  const size_t inner = bytes_behind(result, axis);
  auto* out = static_cast<char*>(result.raw());
  for (int64_t o = 0; o < whole.num_elements(0, axis); ++o) {
    for (const Tensor& part : parts) {
      const size_t bytes = static_cast<size_t>(part.shape()[axis]) * inner;
      std::memcpy(out, static_cast<const char*>(part.raw()) + static_cast<size_t>(o) * bytes, bytes);
      out += bytes;
    }
  }
  return result;
}

Tensor stack(const std::vector<Tensor>& parts, int axis) {
  TW_REQUIRE(!parts.empty(), "there is no iteration to take the shape of a result from");
  const Shape& each = parts[0].shape();
  TW_REQUIRE(axis >= 0 && axis <= each.rank(), "axis ", axis, " of a result does not exist");
  std::vector<Tensor> widened;
  for (const Tensor& part : parts) {
    TW_REQUIRE(part.type() == parts[0].type(), "iterations give results of different types, ", parts[0].type(), " and ",
               part.type());
    std::vector<int64_t> dims = each.dims();
    dims.insert(dims.begin() + axis, 1);
    widened.push_back(part.reshaped(Shape(std::move(dims))));
  }
  return join(widened, axis);
}

}  // namespace thalweg
