// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// The channels of one position, and where their sums reach. An even window has its extra channel after, as in ONNX.
template <typename T>
struct Column {
  int64_t channels, plane, before, after;
  T alpha, beta, bias;

  explicit Column(const ReferenceCall& call)
      : channels(call.out().shape()[1]),
        plane(call.out().shape().num_elements(2, call.out().shape().rank())),
        before((call.attrs().integer("size") - 1) / 2),
        after(call.attrs().integer("size") / 2),
        alpha(static_cast<T>(call.attrs().real("alpha") / static_cast<double>(call.attrs().integer("size")))),
        beta(static_cast<T>(call.attrs().real("beta"))),
        bias(static_cast<T>(call.attrs().real("bias"))) {}

  T scale(const T* x, int64_t c) const {
    T sum = 0;
    for (int64_t i = std::max<int64_t>(c - before, 0); i <= std::min(c + after, channels - 1); ++i) {
      sum += x[i * plane] * x[i * plane];
    }
    return bias + alpha * sum;
  }

  template <typename Body>
  void for_each(const ReferenceCall& call, Body body) const {
    for (int64_t n = 0; n < call.out().shape()[0]; ++n) {
      for (int64_t p = 0; p < plane; ++p) body(n * channels * plane + p);
    }
  }
};

void lrn(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Column<T> column(call);
    column.for_each(call, [&](int64_t base) {
      const T* x = call.in(0).data<T>() + base;
      T* y = call.out().data<T>() + base;
      for (int64_t c = 0; c < column.channels; ++c) {
        y[c * column.plane] = x[c * column.plane] * std::pow(column.scale(x, c), -column.beta);
      }
    });
  });
}

void lrn_grad(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Column<T> column(call);
    std::vector<T> scales(static_cast<size_t>(column.channels));
    column.for_each(call, [&](int64_t base) {
      const T* dy = call.in(0).data<T>() + base;
      const T* x = call.in(1).data<T>() + base;
      T* dx = call.out().data<T>() + base;
      for (int64_t c = 0; c < column.channels; ++c) scales[static_cast<size_t>(c)] = column.scale(x, c);
      for (int64_t c = 0; c < column.channels; ++c) {
        T sum = 0;
        const int64_t last = std::min(c + column.before, column.channels - 1);
        for (int64_t i = std::max<int64_t>(c - column.after, 0); i <= last; ++i) {
          sum += dy[i * column.plane] * x[i * column.plane] *
                 std::pow(scales[static_cast<size_t>(i)], -column.beta - T{1});
        }
        dx[c * column.plane] = dy[c * column.plane] * std::pow(scales[static_cast<size_t>(c)], -column.beta) -
                               2 * column.alpha * column.beta * x[c * column.plane] * sum;
      }
    });
  });
}

const RegisterReference kLrn(op::kLrn, lrn);
const RegisterReference kLrnGrad(op::kLrnGrad, lrn_grad);

}  // namespace
}  // namespace thalweg
