// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Fourier transforms, as products with matrices of cosines and sines.
#include <cmath>
#include <functional>
#include <numbers>

#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/matmul.h"
#include "thalweg/ops/shape.h"
#include "thalweg/ops/signal.h"

namespace thalweg::ops {
namespace {

/// Longer transforms are split into shorter ones.
constexpr int64_t kMostDirect = 2048;
/// The longest whose length has no divisors: its matrices hold so many numbers squared.
constexpr int64_t kMostPrime = 1 << 14;
/// So that no file asks for more memory than a transform that anybody means needs.
constexpr int64_t kMostLength = 1 << 26;

double turn(int64_t numerator, int64_t denominator, bool inverse) {
  const int64_t rest = numerator % denominator;
  const double angle = 2 * std::numbers::pi * static_cast<double>(rest) / static_cast<double>(denominator);
  return inverse ? angle : -angle;
}

/// exp(i * angle) for `rows` by `columns`, whose angles are their products in parts of `period`.
Complex roots(const Value* like, int64_t rows, int64_t columns, int64_t period, bool inverse) {
  Tensor cosine(DType::kF64, {rows, columns}), sine(DType::kF64, {rows, columns});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const double angle = turn(i * j, period, inverse);
      cosine.data<double>()[i * columns + j] = std::cos(angle);
      sine.data<double>()[i * columns + j] = std::sin(angle);
    }
  }
  Graph& graph = like->graph();
  return {graph.constant(cosine.to(like->dtype())), graph.constant(sine.to(like->dtype()))};
}

Complex product(const Complex& x, const Complex& y, Value* (*multiply)(Value*, Value*)) {
  if (x.imaginary == nullptr) return {multiply(x.real, y.real), multiply(x.real, y.imaginary)};
  return {sub(multiply(x.real, y.real), multiply(x.imaginary, y.imaginary)),
          add(multiply(x.real, y.imaginary), multiply(x.imaginary, y.real))};
}

Value* matrix_product(Value* a, Value* b) { return matmul(a, b); }
Value* element_product(Value* a, Value* b) { return mul(a, b); }

Complex each(const Complex& x, const std::function<Value*(Value*)>& change) {
  return {change(x.real), x.imaginary != nullptr ? change(x.imaginary) : nullptr};
}

/// The largest divisor up to the square root.
int64_t divisor_of(int64_t length) {
  for (auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(length))); d > 1; --d) {
    if (length % d == 0) return d;
  }
  return 1;
}

/// Along the last of two dimensions, of which the first `kept` results are given. The other one may be free.
Complex transform(const Complex& x, int64_t kept, bool inverse) {
  const int64_t length = x.real->shape()[1];
  const int64_t inner = divisor_of(length);
  if (length <= kMostDirect || inner == 1) {
    TW_REQUIRE(length <= kMostPrime, "a Fourier transform of the prime length ", length,
               " is not supported: fill it up with zeros to a length that has divisors");
    return product(x, roots(x.real, length, kept, length, inverse), matrix_product);
  }
  // Cooley and Tukey: n = outer * n1 + n2, k = k1 + inner * k2.
  const int64_t outer = length / inner;
  Complex parts = each(x, [&](Value* v) {
    return reshape(transpose(reshape(v, {-1, inner, outer}), {0, 2, 1}), {-1, inner});
  });
  parts = transform(parts, inner, inverse);
  parts = each(parts, [&](Value* v) { return reshape(v, {-1, outer, inner}); });
  parts = product(parts, roots(x.real, outer, inner, length, inverse), element_product);
  parts = each(parts, [&](Value* v) { return reshape(transpose(v, {0, 2, 1}), {-1, outer}); });
  parts = transform(parts, outer, inverse);
  return each(parts, [&](Value* v) {
    Value* y = reshape(transpose(reshape(v, {-1, inner, outer}), {0, 2, 1}), {-1, length});
    return kept < length ? slice(y, {0}, {kept}, {1}) : y;
  });
}

/// Cut, or filled up with zeros, along the last dimension.
Value* with_length(Value* x, int64_t length) {
  const int64_t own = x->shape()[-1];
  if (own == length) return x;
  if (own > length) return slice(x, {0}, {length}, {-1});
  std::vector<int64_t> pads(static_cast<size_t>(2 * x->shape().rank()), 0);
  pads.back() = length - own;
  return pad(x, pads);
}

/// Half of a spectrum of real numbers, [M, length / 2 + 1], as the whole one.
Complex whole_spectrum(const Complex& half, int64_t length) {
  const int64_t mirrored = length - half.real->shape()[1];
  if (mirrored <= 0) return half;
  const auto tail = [&](Value* v) { return slice(v, {mirrored}, {0}, {1}, {-1}); };
  return {concat({half.real, tail(half.real)}, 1), concat({half.imaginary, neg(tail(half.imaginary))}, 1)};
}

void check_length(int64_t length) {
  TW_REQUIRE(length > 0 && length <= kMostLength, "a Fourier transform of length ", length, ", which must be 1 to ",
             kMostLength);
}

void check_operands(const Complex& x) {
  const Shape& shape = x.real->shape();
  TW_REQUIRE(shape.rank() >= 1 && shape[-1] != kFree, "a Fourier transform along the last dimension of ", shape,
             " needs to know its size");
  TW_REQUIRE(x.imaginary == nullptr || x.imaginary->shape() == shape, "real parts of shape ", shape,
             " and imaginary ones of shape ", x.imaginary == nullptr ? shape : x.imaginary->shape());
}

/// As two dimensions, of that length.
Complex as_rows(const Complex& x, int64_t length) {
  return each(x, [&](Value* v) { return with_length(reshape(v, {-1, v->shape()[-1]}), length); });
}

/// Rows as x lies, but for the length of the last dimension. One dimension at most is free.
Value* as_before(Value* rows, const Value* x) {
  std::vector<int64_t> dims = x->shape().dims();
  dims.back() = rows->shape()[1];
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    if (dims[d] == kFree) dims[d] = -1;
  }
  return reshape(rows, dims);
}

}  // namespace

Complex fourier(const Complex& x, const FourierOptions& options) {
  check_operands(x);
  const int64_t length = options.length != 0 ? options.length : x.real->shape()[-1];
  check_length(length);
  const int64_t kept = options.kept != 0 ? options.kept : length;
  TW_REQUIRE(kept > 0 && kept <= length, "of a Fourier transform of length ", length, " ", kept, " results are wanted");
  return each(transform(as_rows(x, length), kept, options.inverse), [&](Value* v) { return as_before(v, x.real); });
}

Value* fourier_of_half(const Complex& x, int64_t length) {
  check_operands(x);
  check_length(length);
  TW_REQUIRE(x.imaginary != nullptr, "half a spectrum has complex numbers");
  const Complex half = as_rows(x, length / 2 + 1);
  return as_before(transform(whole_spectrum(half, length), length, true).real, x.real);
}

}  // namespace thalweg::ops
