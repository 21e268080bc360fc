// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops that move elements by index: gather, scatter and their gradients.
#include <cstring>

#include "ops/ids.h"
#include "runtime/kernels/index_check.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"
#include "tensor/wrapping.h"

namespace thalweg {
namespace {

std::vector<int64_t> indices_of(const ReferenceCall& call, size_t input, int64_t limit) {
  const Tensor& indices = call.in(input);
  return checked_indices(call.node, indices.raw(), indices.dtype(), indices.num_elements(), limit);
}

/// The tensor seen as [outer, size along the axis, inner].
struct Axis {
  int64_t outer, size, inner;
};

Axis axis_of(const Shape& shape, int64_t axis) {
  const int at = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
  return {shape.num_elements(0, at), shape[at], shape.num_elements(at + 1, shape.rank())};
}

void gather(const ReferenceCall& call) {
  const Axis axis = axis_of(call.in(0).shape(), call.attrs().integer("axis"));
  const auto indices = indices_of(call, 1, axis.size);
  const size_t chunk = static_cast<size_t>(axis.inner) * size_of(call.out().dtype());
  const char* x = static_cast<const char*>(call.in(0).raw());
  char* y = static_cast<char*>(call.out().raw());
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t index : indices) {
      std::memcpy(y, x + static_cast<size_t>(o * axis.size + index) * chunk, chunk);
      y += chunk;
    }
  }
}

void gather_grad(const ReferenceCall& call) {
  const Axis axis = axis_of(call.out().shape(), call.attrs().integer("axis"));
  const auto indices = indices_of(call, 1, axis.size);
  std::memset(call.out().raw(), 0, call.out().num_bytes());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* dy = call.in(0).data<T>();
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t index : indices) {
        T* dx = call.out().data<T>() + (o * axis.size + index) * axis.inner;
        for (int64_t i = 0; i < axis.inner; ++i) dx[i] += *dy++;
      }
    }
  });
}

/// Calls `body(i, offset)`: element i of the indices stands for the element of `shape` at `offset`.
template <typename Body>
void for_each_index(const ReferenceCall& call, const Shape& shape, Body body) {
  const Shape& own = call.in(1).shape();
  const int64_t axis = call.attrs().integer("axis");
  const auto along = static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis);
  const auto indices = indices_of(call, 1, shape.dims()[along]);
  const auto strides = shape.strides();
  for (int64_t i = 0; i < own.num_elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (size_t d = strides.size(); d-- > 0;) {
      const int64_t place = d == along ? indices[static_cast<size_t>(i)] : rest % own.dims()[d];
      offset += place * strides[d];
      rest /= own.dims()[d];
    }
    body(i, offset);
  }
}

void gather_elements(const ReferenceCall& call) {
  dispatch(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for_each_index(call, call.in(0).shape(),
                   [&](int64_t i, int64_t offset) { call.out().data<T>()[i] = call.in(0).data<T>()[offset]; });
  });
}

template <typename T>
void scatter(const ReferenceCall& call, T (*combine)(T, T)) {
  for_each_index(call, call.in(0).shape(), [&](int64_t i, int64_t offset) {
    T& target = call.out().data<T>()[offset];
    target = combine(target, call.in(2).data<T>()[i]);
  });
}

void scatter_elements(const ReferenceCall& call) {
  std::memcpy(call.out().raw(), call.in(0).raw(), call.out().num_bytes());
  const std::string reduction = call.attrs().text("reduction");
  if (reduction == "none") {
    dispatch(call.out().dtype(), [&](auto tag) {
      using T = decltype(tag);
      scatter<T>(call, [](T, T update) { return update; });
    });
    return;
  }
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    if (reduction == "add") scatter<T>(call, [](T a, T b) { return wrapping_sum(a, b); });
    if (reduction == "mul") scatter<T>(call, [](T a, T b) { return wrapping_product(a, b); });
    if (reduction == "min") scatter<T>(call, [](T a, T b) { return b < a ? b : a; });
    if (reduction == "max") scatter<T>(call, [](T a, T b) { return a < b ? b : a; });
  });
}

void scatter_rows_add(const ReferenceCall& call) {
  const int64_t width = call.out().shape()[1];
  const auto indices = indices_of(call, 1, call.out().shape()[0]);
  std::memcpy(call.out().raw(), call.in(0).raw(), call.out().num_bytes());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* rows = call.in(2).data<T>();
    for (int64_t index : indices) {
      for (int64_t i = 0; i < width; ++i) call.out().data<T>()[index * width + i] += *rows++;
    }
  });
}

const RegisterReference kGather(op::kGather, gather);
const RegisterReference kEmbedding(op::kEmbedding, gather);
const RegisterReference kGatherGrad(op::kGatherGrad, gather_grad);
const RegisterReference kGatherElements(op::kGatherElements, gather_elements);
const RegisterReference kScatterElements(op::kScatterElements, scatter_elements);
const RegisterReference kScatterRowsAdd(op::kScatterRowsAdd, scatter_rows_add);

}  // namespace
}  // namespace thalweg
