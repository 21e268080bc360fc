// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/broadcast_index.h"
#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// The output shape with reduced dimensions of size 1, so that it broadcasts to the input.
Shape kept_shape(const ReferenceCall& call) {
  Shape shape = call.in(0).shape();
  const std::vector<int64_t> axes = call.attrs().integers("axes");
  for (int i = 0; i < shape.rank(); ++i) {
    const bool reduced = axes.empty() || std::any_of(axes.begin(), axes.end(), [&](int64_t axis) {
                           return (axis < 0 ? axis + shape.rank() : axis) == i;
                         });
    if (reduced) shape[i] = 1;
  }
  return shape;
}

/// Folds the input into the output: `start`, then `step(sum, x)` in the order of the elements, then `finish(sum,
/// count)`.
template <typename Step, typename Finish>
void fold(const ReferenceCall& call, double start, Step step, Finish finish) {
  const BroadcastIndex target(kept_shape(call), call.in(0).shape());
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    T* y = call.out().data<T>();
    const int64_t outputs = call.out().num_elements();
    std::vector<double> sums(static_cast<size_t>(outputs), start);
    for (int64_t i = 0; i < call.in(0).num_elements(); ++i) {
      double& sum = sums[static_cast<size_t>(target(i))];
      sum = step(sum, static_cast<double>(x[i]));
    }
    const int64_t count = outputs > 0 ? call.in(0).num_elements() / outputs : 0;
    for (int64_t i = 0; i < outputs; ++i) y[i] = static_cast<T>(finish(sums[static_cast<size_t>(i)], count));
  });
}

double same(double sum, int64_t) { return sum; }

void log_sum_exp(const ReferenceCall& call) {
  const BroadcastIndex target(kept_shape(call), call.in(0).shape());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    const auto outputs = static_cast<size_t>(call.out().num_elements());
    std::vector<double> largest(outputs, -std::numeric_limits<double>::infinity());
    std::vector<double> sums(outputs, 0.0);
    for (int64_t i = 0; i < call.in(0).num_elements(); ++i) {
      double& m = largest[static_cast<size_t>(target(i))];
      m = std::max(m, static_cast<double>(x[i]));
    }
    for (int64_t i = 0; i < call.in(0).num_elements(); ++i) {
      const auto t = static_cast<size_t>(target(i));
      sums[t] += std::exp(static_cast<double>(x[i]) - largest[t]);
    }
    for (size_t i = 0; i < outputs; ++i) {
      call.out().data<T>()[i] = static_cast<T>(std::isinf(largest[i]) ? largest[i] : largest[i] + std::log(sums[i]));
    }
  });
}

void expand_like(const ReferenceCall& call) {
  const BroadcastIndex source(call.in(0).shape(), call.out().shape());
  dispatch(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < call.out().num_elements(); ++i) call.out().data<T>()[i] = call.in(0).data<T>()[source(i)];
  });
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const RegisterReference kSum(op::kReduceSum, [](const ReferenceCall& call) {
  fold(
      call, 0, [](double s, double x) { return s + x; }, same);
});
const RegisterReference kMean(op::kReduceMean, [](const ReferenceCall& call) {
  fold(
      call, 0, [](double s, double x) { return s + x; },
      [](double s, int64_t n) { return s / static_cast<double>(n); });
});
const RegisterReference kMax(op::kReduceMax, [](const ReferenceCall& call) {
  fold(
      call, -kInfinity, [](double s, double x) { return s < x || x != x ? x : s; }, same);
});
const RegisterReference kMin(op::kReduceMin, [](const ReferenceCall& call) {
  fold(
      call, kInfinity, [](double s, double x) { return x < s || x != x ? x : s; }, same);
});
const RegisterReference kProd(op::kReduceProd, [](const ReferenceCall& call) {
  fold(
      call, 1, [](double s, double x) { return s * x; }, same);
});
const RegisterReference kL1(op::kReduceL1, [](const ReferenceCall& call) {
  fold(
      call, 0, [](double s, double x) { return s + std::fabs(x); }, same);
});
const RegisterReference kL2(op::kReduceL2, [](const ReferenceCall& call) {
  fold(
      call, 0, [](double s, double x) { return s + x * x; }, [](double s, int64_t) { return std::sqrt(s); });
});
const RegisterReference kLogSumExp(op::kReduceLogSumExp, log_sum_exp);
const RegisterReference kExpandLike(op::kExpandLike, expand_like);

}  // namespace
}  // namespace thalweg
