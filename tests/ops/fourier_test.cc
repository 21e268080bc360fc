// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops/signal.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<std::complex<double>>;

/// By the definition.
Numbers transformed(const Numbers& x, bool inverse) {
  const auto n = static_cast<int64_t>(x.size());
  Numbers y(x.size());
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      y[static_cast<size_t>(k)] += x[static_cast<size_t>(i)] * std::polar(1.0, inverse ? turn : -turn);
    }
  }
  return y;
}

/// A row of a tensor of each part, cut or filled up with zeros.
Numbers row_of(const Tensor& real, const Tensor& imaginary, int64_t row, int64_t length) {
  const int64_t own = real.shape()[-1];
  Numbers x(static_cast<size_t>(length));
  for (int64_t i = 0; i < std::min(own, length); ++i) {
    x[static_cast<size_t>(i)] = {real.data<double>()[row * own + i],
                                 imaginary.defined() ? imaginary.data<double>()[row * own + i] : 0.0};
  }
  return x;
}

void expect_transform(const Shape& shape, ops::FourierOptions options, bool complex) {
  SCOPED_TRACE(shape.to_string());
  Graph graph;
  Value* real = graph.input("real", {DType::kF64, shape});
  Value* imaginary = complex ? graph.input("imaginary", {DType::kF64, shape}) : nullptr;
  const ops::Complex result = ops::fourier({real, imaginary}, options);
  graph.mark_output(result.real);
  graph.mark_output(result.imaginary);
  std::vector<Tensor> inputs{random_tensor(DType::kF64, shape, 1)};
  if (complex) inputs.push_back(random_tensor(DType::kF64, shape, 2));
  const std::vector<Tensor> y = run_graph(graph, inputs);
  const int64_t length = options.length != 0 ? options.length : shape[-1];
  const int64_t kept = options.kept != 0 ? options.kept : length;
  ASSERT_EQ(y[0].shape()[-1], kept);
  for (int64_t row = 0; row < shape.num_elements() / shape[-1]; ++row) {
    const Numbers expected =
        transformed(row_of(inputs[0], complex ? inputs[1] : Tensor(), row, length), options.inverse);
    for (int64_t k = 0; k < kept; ++k) {
      const std::complex<double> actual{y[0].data<double>()[row * kept + k], y[1].data<double>()[row * kept + k]};
      ASSERT_LT(std::abs(actual - expected[static_cast<size_t>(k)]), 1e-9 * static_cast<double>(length))
          << row << ' ' << k;
    }
  }
}

TEST(Fourier, IsTheTransformByItsDefinition) {
  for (const bool complex : {false, true}) {
    expect_transform({3, 8}, {}, complex);
    expect_transform({1}, {}, complex);
    expect_transform({2, 2, 7}, {.inverse = true}, complex);
    expect_transform({2, 9}, {.length = 12, .kept = 7}, complex);
    expect_transform({2, 9}, {.length = 5}, complex);
    // Long enough to be split.
    expect_transform({1, 2100}, {.kept = 40}, complex);
  }
}

TEST(Fourier, HalfOfASpectrumGivesTheNumbersBack) {
  for (const int64_t length : {1, 2, 7, 10}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF64, {3, length}});
    graph.mark_output(ops::fourier_of_half(ops::fourier({x, nullptr}, {.kept = length / 2 + 1}), length));
    const Tensor given = random_tensor(DType::kF64, {3, length}, 5);
    const Tensor back = run_graph(graph, {given})[0];
    for (int64_t i = 0; i < back.num_elements(); ++i) {
      EXPECT_NEAR(back.data<double>()[i], static_cast<double>(length) * given.data<double>()[i], 1e-9);
    }
  }
}

TEST(Fourier, LeavesOtherDimensionsFree) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 3, 16}});
  const ops::Complex y = ops::fourier({x, nullptr}, {.kept = 9});
  EXPECT_EQ(y.real->shape(), (Shape{kFree, 3, 9}));
}

TEST(Fourier, NamesLengthsThatCannotBe) {
  Graph graph;
  Value* free = graph.input("free", {DType::kF32, {2, kFree}});
  Value* x = graph.input("x", {DType::kF32, {2, 8}});
  EXPECT_THAT(error_text([&] { ops::fourier({free, nullptr}); }), HasSubstr("needs to know its size"));
  EXPECT_THAT(error_text([&] {
                ops::fourier({x, nullptr}, {.length = int64_t{1} << 40});
              }),
              HasSubstr("a Fourier transform of length 1099511627776"));
  EXPECT_THAT(error_text([&] { ops::fourier({x, nullptr}, {.length = 65537}); }), HasSubstr("the prime length 65537"));
  EXPECT_THAT(error_text([&] { ops::fourier({x, nullptr}, {.kept = 9}); }), HasSubstr("9 results are wanted"));
  EXPECT_THAT(error_text([&] { ops::fourier_of_half({x, nullptr}, 8); }), HasSubstr("complex numbers"));
}

}  // namespace
}  // namespace thalweg::testing
