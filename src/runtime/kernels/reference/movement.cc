// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops that move elements by position: concat, split, slice, transpose, pad, expand, tile.
#include <algorithm>
#include <cstring>

#include "ops/broadcast_index.h"
#include "ops/ids.h"
#include "ops/slice_bounds.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Calls `body(place, linear)` for every element of `shape` in order.
template <typename Body>
void for_each_place(const Shape& shape, Body body) {
  std::vector<int64_t> place(static_cast<size_t>(shape.rank()));
  const int64_t count = shape.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    body(place, i);
    for (size_t d = place.size(); d-- > 0;) {
      if (++place[d] < shape.dims()[d]) break;
      place[d] = 0;
    }
  }
}

void copy_element(const Tensor& from, int64_t source, const Tensor& to, int64_t target) {
  const size_t size = size_of(to.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + static_cast<size_t>(target) * size,
              static_cast<const char*>(from.raw()) + static_cast<size_t>(source) * size, size);
}

int64_t offset_of(const std::vector<int64_t>& place, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < place.size(); ++d) offset += place[d] * strides[d];
  return offset;
}

/// Copies parts that lie one after the other along `axis` between `whole` and `parts`.
void copy_parts(const Tensor& whole, std::span<const Tensor> parts, int64_t axis, bool into_whole) {
  const auto strides = whole.shape().strides();
  const auto along = static_cast<size_t>(axis < 0 ? axis + whole.shape().rank() : axis);
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    for_each_place(part.shape(), [&](const std::vector<int64_t>& place, int64_t i) {
      const int64_t there = offset_of(place, strides) + begin * strides[along];
      into_whole ? copy_element(part, i, whole, there) : copy_element(whole, there, part, i);
    });
    begin += part.shape().dims()[along];
  }
}

void concat(const ReferenceCall& call) { copy_parts(call.out(), call.inputs, call.attrs().integer("axis"), true); }
void split(const ReferenceCall& call) { copy_parts(call.in(0), call.outputs, call.attrs().integer("axis"), false); }

int64_t sliced_offset(const std::vector<int64_t>& place, const std::vector<SliceBounds>& bounds,
                      const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < place.size(); ++d) offset += (bounds[d].start + place[d] * bounds[d].step) * strides[d];
  return offset;
}

void slice(const ReferenceCall& call) {
  const auto bounds = slice_bounds(call.attrs(), call.in(0).shape());
  const auto strides = call.in(0).shape().strides();
  for_each_place(call.out().shape(), [&](const std::vector<int64_t>& place, int64_t i) {
    copy_element(call.in(0), sliced_offset(place, bounds, strides), call.out(), i);
  });
}

void slice_grad(const ReferenceCall& call) {
  const auto bounds = slice_bounds(call.attrs(), call.out().shape());
  const auto strides = call.out().shape().strides();
  std::memset(call.out().raw(), 0, call.out().num_bytes());
  for_each_place(call.in(0).shape(), [&](const std::vector<int64_t>& place, int64_t i) {
    copy_element(call.in(0), i, call.out(), sliced_offset(place, bounds, strides));
  });
}

void transpose(const ReferenceCall& call) {
  const auto permutation = call.attrs().integers("permutation");
  const auto own = call.in(0).shape().strides();
  std::vector<int64_t> strides;
  for (int64_t p : permutation) {
    strides.push_back(own[static_cast<size_t>(p < 0 ? p + call.in(0).shape().rank() : p)]);
  }
  for_each_place(call.out().shape(), [&](const std::vector<int64_t>& place, int64_t i) {
    copy_element(call.in(0), offset_of(place, strides), call.out(), i);
  });
}

/// Where a padded place comes from along one dimension; -1 if from nowhere.
int64_t unpadded(int64_t place, int64_t begin, int64_t size, const std::string& mode) {
  int64_t at = place - begin;
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "reflect") return at < 0 ? -at : 2 * (size - 1) - at;
  return -1;
}

/// Calls `body(outer, inner)` with the linear places that padding ties together; inner is -1 in the margin.
template <typename Body>
void for_each_padded(const ReferenceCall& call, const Shape& outer, const Shape& inner, Body body) {
  const auto pads = call.attrs().integers("pads");
  const std::string mode = call.attrs().text("mode");
  const auto strides = inner.strides();
  for_each_place(outer, [&](const std::vector<int64_t>& place, int64_t i) {
    int64_t offset = 0;
    for (size_t d = 0; d < place.size() && offset >= 0; ++d) {
      const int64_t at = unpadded(place[d], pads[d], inner.dims()[d], mode);
      offset = at < 0 ? -1 : offset + at * strides[d];
    }
    body(i, offset);
  });
}

void pad(const ReferenceCall& call) {
  const Tensor value = Tensor::scalar<double>(call.attrs().real("value")).to(call.out().dtype());
  for_each_padded(call, call.out().shape(), call.in(0).shape(), [&](int64_t outer, int64_t inner) {
    inner < 0 ? copy_element(value, 0, call.out(), outer) : copy_element(call.in(0), inner, call.out(), outer);
  });
}

void pad_grad(const ReferenceCall& call) {
  std::memset(call.out().raw(), 0, call.out().num_bytes());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for_each_padded(call, call.in(0).shape(), call.out().shape(), [&](int64_t outer, int64_t inner) {
      if (inner >= 0) call.out().data<T>()[inner] += call.in(0).data<T>()[outer];
    });
  });
}

void expand(const ReferenceCall& call) {
  const BroadcastIndex source(call.in(0).shape(), call.out().shape());
  for (int64_t i = 0; i < call.out().num_elements(); ++i) copy_element(call.in(0), source(i), call.out(), i);
}

int64_t untiled(const std::vector<int64_t>& place, const Shape& small, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < place.size(); ++d) offset += place[d] % small.dims()[d] * strides[d];
  return offset;
}

void tile(const ReferenceCall& call) {
  const auto strides = call.in(0).shape().strides();
  for_each_place(call.out().shape(), [&](const std::vector<int64_t>& place, int64_t i) {
    copy_element(call.in(0), untiled(place, call.in(0).shape(), strides), call.out(), i);
  });
}

void tile_grad(const ReferenceCall& call) {
  const auto strides = call.out().shape().strides();
  std::memset(call.out().raw(), 0, call.out().num_bytes());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for_each_place(call.in(0).shape(), [&](const std::vector<int64_t>& place, int64_t i) {
      call.out().data<T>()[untiled(place, call.out().shape(), strides)] += call.in(0).data<T>()[i];
    });
  });
}

const RegisterReference kConcat(op::kConcat, concat);
const RegisterReference kSplit(op::kSplit, split);
const RegisterReference kSlice(op::kSlice, slice);
const RegisterReference kSliceGrad(op::kSliceGrad, slice_grad);
const RegisterReference kTranspose(op::kTranspose, transpose);
const RegisterReference kPad(op::kPad, pad);
const RegisterReference kPadGrad(op::kPadGrad, pad_grad);
const RegisterReference kExpand(op::kExpand, expand);
const RegisterReference kTile(op::kTile, tile);
const RegisterReference kTileGrad(op::kTileGrad, tile_grad);

}  // namespace
}  // namespace thalweg
