// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/ids.h"
#include "runtime/kernels/axis_view.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

template <typename T>
double log_sum_exp(const T* line, const AxisView& view) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < view.size; ++k) largest = std::max(largest, static_cast<double>(line[k * view.inner]));
  double sum = 0;
  for (int64_t k = 0; k < view.size; ++k) sum += std::exp(line[k * view.inner] - largest);
  return largest + std::log(sum);
}

/// Calls `line_function(line number, first element)` for every line along the axis.
template <typename F>
void each_line(const AxisView& view, F line_function) {
  for (int64_t line = 0; line < view.lines(); ++line) line_function(line, view.begin(line));
}

void softmax(const ReferenceCall& call, bool logarithm) {
  const AxisView view(call.in(0).shape(), call.attrs().integer("axis"));
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    each_line(view, [&](int64_t, int64_t begin) {
      const T* x = call.in(0).data<T>() + begin;
      T* y = call.out().data<T>() + begin;
      const double total = log_sum_exp(x, view);
      for (int64_t k = 0; k < view.size; ++k) {
        const double value = x[k * view.inner] - total;
        y[k * view.inner] = static_cast<T>(logarithm ? value : std::exp(value));
      }
    });
  });
}

void softmax_grad(const ReferenceCall& call, bool logarithm) {
  const AxisView view(call.in(0).shape(), call.attrs().integer("axis"));
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    each_line(view, [&](int64_t, int64_t begin) {
      const T* dy = call.in(0).data<T>() + begin;
      const T* y = call.in(1).data<T>() + begin;
      T* dx = call.out().data<T>() + begin;
      double sum = 0;
      for (int64_t k = 0; k < view.size * view.inner; k += view.inner) {
        sum += logarithm ? static_cast<double>(dy[k]) : static_cast<double>(dy[k]) * y[k];
      }
      for (int64_t k = 0; k < view.size * view.inner; k += view.inner) {
        dx[k] = static_cast<T>(logarithm ? dy[k] - std::exp(static_cast<double>(y[k])) * sum : y[k] * (dy[k] - sum));
      }
    });
  });
}

/// What the distribution of a line should be at class `k`.
double target(const ReferenceCall& call, int64_t classes, int64_t label, int64_t k) {
  const double smoothing = call.attrs().real("label_smoothing");
  return (k == label ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
}

void cross_entropy(const ReferenceCall& call) {
  const AxisView view(call.in(0).shape(), 1);
  const Labels labels(call.node, call.in(1).dtype(), call.in(1).raw(), view.lines(), view.size);
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    each_line(view, [&](int64_t line, int64_t begin) {
      const T* x = call.in(0).data<T>() + begin;
      double loss = 0;
      if (!labels.ignores(line)) {
        const double total = log_sum_exp(x, view);
        for (int64_t k = 0; k < view.size; ++k) {
          const double weight = target(call, view.size, labels[line], k);
          if (weight != 0) loss += weight * (total - x[k * view.inner]);
        }
      }
      call.out().data<T>()[line] = static_cast<T>(loss);
    });
  });
}

void cross_entropy_grad(const ReferenceCall& call) {
  const AxisView view(call.in(1).shape(), 1);
  const Labels labels(call.node, call.in(2).dtype(), call.in(2).raw(), view.lines(), view.size);
  dispatch_real(call.in(1).dtype(), [&](auto tag) {
    using T = decltype(tag);
    each_line(view, [&](int64_t line, int64_t begin) {
      const T* x = call.in(1).data<T>() + begin;
      T* dx = call.out().data<T>() + begin;
      const double scale = labels.ignores(line) ? 0 : static_cast<double>(call.in(0).data<T>()[line]);
      const double total = log_sum_exp(x, view);
      for (int64_t k = 0; k < view.size; ++k) {
        const double probability = std::exp(x[k * view.inner] - total);
        dx[k * view.inner] = static_cast<T>(scale * (probability - target(call, view.size, labels[line], k)));
      }
    });
  });
}

const RegisterReference kSoftmax(op::kSoftmax, [](const ReferenceCall& call) { softmax(call, false); });
const RegisterReference kLogSoftmax(op::kLogSoftmax, [](const ReferenceCall& call) { softmax(call, true); });
const RegisterReference kSoftmaxGrad(op::kSoftmaxGrad, [](const ReferenceCall& call) { softmax_grad(call, false); });
const RegisterReference kLogSoftmaxGrad(op::kLogSoftmaxGrad,
                                        [](const ReferenceCall& call) { softmax_grad(call, true); });
const RegisterReference kCrossEntropy(op::kSoftmaxCrossEntropy, cross_entropy);
const RegisterReference kCrossEntropyGrad(op::kSoftmaxCrossEntropyGrad, cross_entropy_grad);

}  // namespace
}  // namespace thalweg
