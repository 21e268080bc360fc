// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Systems of linear equations.
#include <cmath>
#include <utility>

#include "graph/op_registry.h"
#include "ops/broadcast.h"
#include "ops/broadcast_index.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

Shape leading(const Shape& shape) { return Shape(std::vector<int64_t>(shape.begin(), shape.end() - 2)); }

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  context.require(a.rank() >= 2 && b.rank() >= 2, "both sides need at least two dimensions");
  context.require(context.dtype(0) == context.dtype(1), "element types differ");
  context.require(a[-1] == a[-2] && a[-1] != kFree, "matrices must be square, and of a size that is known");
  context.require(b[-2] == a[-1], "the right sides have ", b[-2], " rows, the matrices ", a[-1]);
  std::vector<int64_t> dims = broadcast_shapes(context, leading(a), leading(b)).dims();
  dims.push_back(b[-2]);
  dims.push_back(b[-1]);
  return {{context.dtype(0), Shape(std::move(dims))}};
}

/// Elimination with the largest pivots, in place: `b` becomes the solution. A singular matrix gives what dividing by 0
/// does.
void solve(std::vector<double>& a, std::vector<double>& b, int64_t n, int64_t columns) {
  const auto at = [&](int64_t i, int64_t j) -> double& { return a[static_cast<size_t>(i * n + j)]; };
  const auto right = [&](int64_t i, int64_t j) -> double& { return b[static_cast<size_t>(i * columns + j)]; };
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
    }
    for (int64_t j = k; j < n && pivot != k; ++j) std::swap(at(k, j), at(pivot, j));
    for (int64_t j = 0; j < columns && pivot != k; ++j) std::swap(right(k, j), right(pivot, j));
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = at(i, k) / at(k, k);
      for (int64_t j = k + 1; j < n; ++j) at(i, j) -= factor * at(k, j);
      for (int64_t j = 0; j < columns; ++j) right(i, j) -= factor * right(k, j);
    }
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    for (int64_t j = 0; j < columns; ++j) {
      double rest = right(k, j);
      for (int64_t i = k + 1; i < n; ++i) rest -= at(k, i) * right(i, j);
      right(k, j) = rest / at(k, k);
    }
  }
}

void compute(const ReferenceCall& call) {
  const Shape& out = call.out().shape();
  const int64_t n = out[-2], columns = out[-1], systems = out.num_elements(0, out.rank() - 2);
  const BroadcastIndex of_matrix(leading(call.in(0).shape()), leading(out));
  const BroadcastIndex of_right(leading(call.in(1).shape()), leading(out));
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t s = 0; s < systems; ++s) {
      const T* matrix = call.in(0).data<T>() + of_matrix(s) * n * n;
      const T* given = call.in(1).data<T>() + of_right(s) * n * columns;
      std::vector<double> a(matrix, matrix + n * n), b(given, given + n * columns);
      solve(a, b, n, columns);
      T* to = call.out().data<T>() + s * n * columns;
      for (size_t i = 0; i < b.size(); ++i) to[i] = static_cast<T>(b[i]);
    }
  });
}

Value* transposed(Value* matrices) {
  std::vector<int64_t> order;
  for (int d = 0; d < matrices->shape().rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return ops::transpose(matrices, order);
}

void gradient(GradientContext& context) {
  Value* a = context.input(0);
  Value* right = context.graph().add(op::kSolve, {transposed(a), context.output_gradient()})->output();
  if (context.wants(1)) context.set(1, ops::sum_to(right, context.input(1)->shape()));
  if (context.wants(0)) {
    context.set(0, ops::sum_to(ops::neg(ops::matmul(right, context.output(), false, true)), a->shape()));
  }
}

const RegisterOp kSolve(op::kSolve, 2, "x for which a x = b, of square matrices a and right sides b side by side.",
                        infer, gradient, {}, {.reference = compute, .data_inputs = 2});

}  // namespace
}  // namespace thalweg
