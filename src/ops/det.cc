// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "graph/op_registry.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  const Shape& x = context.shape(0);
  context.require(x.rank() >= 2 && x[-1] == x[-2], "matrices must be square");
  return {{context.dtype(0), Shape(std::vector<int64_t>(x.begin(), x.end() - 2))}};
}

/// The sign of a determinant, 0 of 0, and the logarithm of what it is without.
std::vector<TensorType> infer_logarithm(const InferContext& context) {
  const TensorType type = infer(context)[0];
  return {type, type};
}

/// Calls `factor` with what a determinant is the product of: by elimination with the largest pivots, in place.
template <typename T, typename Factor>
void eliminate(std::vector<T>& m, int64_t n, Factor factor) {
  const auto at = [&](int64_t i, int64_t j) -> T& { return m[static_cast<size_t>(i * n + j)]; };
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
    }
    if (at(pivot, k) == T{}) return factor(T{});
    if (pivot != k) {
      for (int64_t j = k; j < n; ++j) std::swap(at(k, j), at(pivot, j));
    }
    factor(pivot != k ? -at(k, k) : at(k, k));
    for (int64_t i = k + 1; i < n; ++i) {
      const T share = at(i, k) / at(k, k);
      for (int64_t j = k + 1; j < n; ++j) at(i, j) -= share * at(k, j);
    }
  }
}

/// Calls `body(number, matrix, n)` for each.
template <typename Body>
void each_matrix(const ReferenceCall& call, Body body) {
  const int64_t n = call.in(0).shape()[-1];
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      std::vector<T> matrix(x + i * n * n, x + (i + 1) * n * n);
      body(i, matrix, n);
    }
  });
}

void compute(const ReferenceCall& call) {
  each_matrix(call, [&]<typename T>(int64_t number, std::vector<T>& matrix, int64_t n) {
    T product = 1;
    eliminate(matrix, n, [&](T factor) { product *= factor; });
    call.out().data<T>()[number] = product;
  });
}

void compute_logarithm(const ReferenceCall& call) {
  each_matrix(call, [&]<typename T>(int64_t number, std::vector<T>& matrix, int64_t n) {
    T sign = 1, logarithm = 0;
    eliminate(matrix, n, [&](T factor) {
      sign = factor == T{} ? T{} : factor < T{} ? -sign : sign;
      logarithm += std::log(std::fabs(factor));
    });
    call.out(0).data<T>()[number] = sign;
    call.out(1).data<T>()[number] = logarithm;
  });
}

/// By how much a determinant grows with each element, divided by it: the inverse, transposed.
Value* growth(const GradientContext& context) {
  Value* x = context.input(0);
  const int rank = x->shape().rank();
  const int64_t n = x->shape()[-1];
  Tensor one = Tensor::zeros(DType::kF64, {n, n});
  for (int64_t i = 0; i < n; ++i) one.data<double>()[i * n + i] = 1;
  std::vector<int64_t> order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return context.graph()
      .add(op::kSolve, {ops::transpose(x, order), context.graph().constant(one.to(x->dtype()))})
      ->output();
}

Value* by_matrix(Value* numbers) {
  const int rank = numbers->shape().rank();
  return ops::unsqueeze(numbers, {rank, rank + 1});
}

void gradient(GradientContext& context) {
  Value* share = by_matrix(ops::mul(context.output_gradient(), context.output()));
  context.set(0, ops::mul(share, growth(context)));
}

void logarithm_gradient(GradientContext& context) {
  if (context.output_gradient(1) == nullptr) return;
  context.set(0, ops::mul(by_matrix(context.output_gradient(1)), growth(context)));
}

const RegisterOp kDet(op::kDet, 1, "The determinants of square matrices, which are the last two dimensions.", infer,
                      gradient, {}, {.reference = compute, .onnx = {{"Det", 11}}});
const RegisterOp kSlogdet(op::kSlogdet, 1, "The signs of determinants, and the logarithms of what they are without.",
                          infer_logarithm, logarithm_gradient, {}, {.reference = compute_logarithm});

}  // namespace
}  // namespace thalweg
