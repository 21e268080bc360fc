// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Layer and group normalisation alike: contiguous rows, each with its statistics; element i of the tensor is scaled by
/// parameter (i / repeat) % parameters.
struct Rows {
  int64_t count, size, parameters, repeat;

  Rows(const Node& node, const Shape& shape) {
    if (node.op_name() == op::kGroupNorm || node.op_name() == op::kGroupNormGrad) {
      const int64_t groups = node.attrs().integer("groups");
      repeat = shape.num_elements(2, shape.rank());
      parameters = shape[1];
      count = shape[0] * groups;
      size = shape[1] / groups * repeat;
    } else {
      const int64_t axis = node.attrs().integer("axis");
      const int first = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
      repeat = 1;
      parameters = shape.num_elements(first, shape.rank());
      count = shape.num_elements(0, first);
      size = parameters;
    }
  }
  int64_t parameter(int64_t element) const { return element / repeat % parameters; }
};

template <typename T>
double parameter(const ReferenceCall& call, size_t input, int64_t index, double fallback) {
  return call.has(input) ? static_cast<double>(call.in(input).data<T>()[index]) : fallback;
}

void norm(const ReferenceCall& call) {
  const Rows rows(call.node, call.in(0).shape());
  const double epsilon = call.attrs().real("epsilon");
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t row = 0; row < rows.count; ++row) {
      const T* x = call.in(0).data<T>() + row * rows.size;
      T* y = call.out().data<T>() + row * rows.size;
      const auto size = static_cast<double>(rows.size);
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < rows.size; ++i) mean += x[i] / size;
      for (int64_t i = 0; i < rows.size; ++i) variance += (x[i] - mean) * (x[i] - mean) / size;
      for (int64_t i = 0; i < rows.size; ++i) {
        const int64_t p = rows.parameter(row * rows.size + i);
        y[i] = static_cast<T>((x[i] - mean) / std::sqrt(variance + epsilon) * parameter<T>(call, 1, p, 1) +
                              parameter<T>(call, 2, p, 0));
      }
      call.out(1).data<T>()[row] = static_cast<T>(mean);
      call.out(2).data<T>()[row] = static_cast<T>(variance);
    }
  });
}

template <typename T>
void row_gradient(const ReferenceCall& call, const Rows& rows, int64_t row, std::vector<double>& dscale,
                  std::vector<double>& dshift) {
  const T* dy = call.in(0).data<T>();
  const T* x = call.in(1).data<T>();
  const double mean = static_cast<double>(call.in(2).data<T>()[row]);
  const double rstd = 1 / std::sqrt(static_cast<double>(call.in(3).data<T>()[row]) + call.attrs().real("epsilon"));
  const int64_t begin = row * rows.size, end = begin + rows.size;
  double sum = 0, product = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t p = rows.parameter(i);
    const double normal = (x[i] - mean) * rstd;
    const double g = dy[i] * parameter<T>(call, 4, p, 1);
    sum += g;
    product += g * normal;
    dscale[static_cast<size_t>(p)] += dy[i] * normal;
    dshift[static_cast<size_t>(p)] += static_cast<double>(dy[i]);
  }
  const auto size = static_cast<double>(rows.size);
  for (int64_t i = begin; i < end; ++i) {
    const double g = dy[i] * parameter<T>(call, 4, rows.parameter(i), 1);
    call.out().data<T>()[i] = static_cast<T>(rstd * (g - sum / size - (x[i] - mean) * rstd * product / size));
  }
}

void norm_grad(const ReferenceCall& call) {
  const Rows rows(call.node, call.in(1).shape());
  dispatch_real(call.in(1).dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::vector<double> dscale(static_cast<size_t>(rows.parameters)), dshift(static_cast<size_t>(rows.parameters));
    for (int64_t row = 0; row < rows.count; ++row) row_gradient<T>(call, rows, row, dscale, dshift);
    for (size_t p = 0; p < dscale.size(); ++p) {
      call.out(1).data<T>()[p] = static_cast<T>(dscale[p]);
      call.out(2).data<T>()[p] = static_cast<T>(dshift[p]);
    }
  });
}

const RegisterReference kLayerNorm(op::kLayerNorm, norm);
const RegisterReference kLayerNormGrad(op::kLayerNormGrad, norm_grad);
const RegisterReference kGroupNorm(op::kGroupNorm, norm);
const RegisterReference kGroupNormGrad(op::kGroupNormGrad, norm_grad);

}  // namespace
}  // namespace thalweg
