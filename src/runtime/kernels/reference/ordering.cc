// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/ordering.h"

#include <algorithm>
#include <numeric>

#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Calls `body(x, y, stride)` for every line along the axis, with its first element in the input and in the output.
template <typename Body>
void for_each_line(const ReferenceCall& call, int64_t axis, int64_t output_size, Body body) {
  const Shape& shape = call.in(0).shape();
  const int at = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
  const int64_t outer = shape.num_elements(0, at), inner = shape.num_elements(at + 1, shape.rank());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) body(o * shape[at] * inner + i, o * output_size * inner + i, inner);
  }
}

int64_t axis_size(const ReferenceCall& call, int64_t axis) { return call.in(0).shape()[static_cast<int>(axis)]; }

void arg_extremum(const ReferenceCall& call, bool largest) {
  const int64_t axis = call.attrs().integer("axis");
  const int64_t size = axis_size(call, axis);
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    for_each_line(call, axis, 1, [&](int64_t from, int64_t to, int64_t stride) {
      int64_t best = 0;
      for (int64_t k = 1; k < size; ++k) {
        const T candidate = x[from + k * stride], record = x[from + best * stride];
        if (largest ? candidate > record : candidate < record) best = k;
      }
      call.out().data<int64_t>()[to] = best;
    });
  });
}

void top_k(const ReferenceCall& call) {
  const int64_t axis = call.attrs().integer("axis");
  const int64_t size = axis_size(call, axis);
  const int64_t k = call.attrs().integer("k");
  const bool smallest = call.attrs().flag("smallest");
  std::vector<int64_t> order(static_cast<size_t>(size));
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    for_each_line(call, axis, k, [&](int64_t from, int64_t to, int64_t stride) {
      std::iota(order.begin(), order.end(), int64_t{0});
      std::partial_sort(order.begin(), order.begin() + k, order.end(), BestFirst<T>{x + from, stride, smallest});
      for (int64_t i = 0; i < k; ++i) {
        call.out(0).data<T>()[to + i * stride] = x[from + order[static_cast<size_t>(i)] * stride];
        call.out(1).data<int64_t>()[to + i * stride] = order[static_cast<size_t>(i)];
      }
    });
  });
}

void cumsum(const ReferenceCall& call) {
  const int64_t axis = call.attrs().integer("axis");
  const int64_t size = axis_size(call, axis);
  const bool exclusive = call.attrs().flag("exclusive");
  const bool reverse = call.attrs().flag("reverse");
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    T* y = call.out().data<T>();
    for_each_line(call, axis, size, [&](int64_t from, int64_t to, int64_t stride) {
      SumOf<T> sum = 0;
      for (int64_t step = 0; step < size; ++step) {
        const int64_t k = reverse ? size - 1 - step : step;
        const SumOf<T> before = sum;
        sum += static_cast<SumOf<T>>(x[from + k * stride]);
        y[to + k * stride] = static_cast<T>(exclusive ? before : sum);
      }
    });
  });
}

const RegisterReference kArgMax(op::kArgMax, [](const ReferenceCall& call) { arg_extremum(call, true); });
const RegisterReference kArgMin(op::kArgMin, [](const ReferenceCall& call) { arg_extremum(call, false); });
const RegisterReference kTopK(op::kTopK, top_k);
const RegisterReference kCumsum(op::kCumsum, cumsum);

}  // namespace
}  // namespace thalweg
