// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "graph/op_registry.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  const Shape& x = context.shape(0);
  context.require(x.rank() >= 2 && x[-1] == x[-2], "matrices must be square");
  return {{context.dtype(0), Shape(std::vector<int64_t>(x.begin(), x.end() - 2))}};
}

/// By elimination with the largest pivots, in place.
template <typename T>
T determinant(std::vector<T>& m, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> T& { return m[static_cast<size_t>(i * n + j)]; };
  T product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
    }
    if (at(pivot, k) == T{}) return T{};
    if (pivot != k) {
      for (int64_t j = k; j < n; ++j) std::swap(at(k, j), at(pivot, j));
      product = -product;
    }
    product *= at(k, k);
    for (int64_t i = k + 1; i < n; ++i) {
      const T factor = at(i, k) / at(k, k);
      for (int64_t j = k + 1; j < n; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  return product;
}

void compute(const ReferenceCall& call) {
  const int64_t n = call.in(0).shape()[-1];
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      std::vector<T> matrix(x + i * n * n, x + (i + 1) * n * n);
      call.out().data<T>()[i] = determinant(matrix, n);
    }
  });
}

const RegisterOp kDet(op::kDet, 1, "The determinants of square matrices, which are the last two dimensions.", infer,
                      nullptr, {}, {.reference = compute, .onnx = {{"Det", 11}}});

}  // namespace
}  // namespace thalweg
