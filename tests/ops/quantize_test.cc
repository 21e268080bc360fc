// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "base/cpu.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// One step of 255: results that round to the other side of a half.
constexpr double kOneStep = 1.01 / 127.0;

Operand bytes(const Shape& shape, DType dtype) {
  return dtype == DType::kU8 ? Operand{shape, 0, 256, dtype, false} : Operand{shape, -128, 128, dtype, false};
}
Operand floats(const Shape& shape, double low, double high) { return {shape, low, high, DType::kF32, false}; }

Value* number(Graph& graph, float value) { return graph.constant(Tensor::scalar<float>(value)); }

Value* zero_point(Graph& graph, DType dtype, int value) {
  return graph.constant(Tensor::scalar<int32_t>(value).to(dtype));
}

Tensor quantized(const std::vector<float>& values, float scale, int zero, DType dtype) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {static_cast<int64_t>(values.size())}});
  graph.mark_output(ops::quantize(x, number(graph, scale), zero_point(graph, dtype, zero), dtype));
  return run_graph(graph, {Tensor::from<float>({static_cast<int64_t>(values.size())}, values)})[0];
}

TEST(Quantize, RoundsHalvesToEvenAndSaturates) {
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor u8 = quantized({0.0f, 0.25f, 0.75f, 1.25f, -1.0f, 1e9f, infinity, -infinity}, 0.5f, 3, DType::kU8);
  const std::vector<int> expected{3, 3, 5, 5, 1, 255, 255, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(u8.data<uint8_t>()[i], expected[i]) << i;
  const Tensor i8 = quantized({-70.0f, 63.4f, 70.0f, -0.25f, not_a_number}, 0.5f, 0, DType::kI8);
  const std::vector<int> signed_expected{-128, 127, 127, 0, 0};
  for (size_t i = 0; i < signed_expected.size(); ++i) EXPECT_EQ(i8.data<int8_t>()[i], signed_expected[i]) << i;
}

TEST(Quantize, FastPathMatchesReference) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    const BuildOp forth = [&](const std::vector<Value*>& v) {
      Graph& graph = v[0]->graph();
      return std::vector<Value*>{ops::quantize(v[0], number(graph, 0.013f), zero_point(graph, dtype, 7), dtype)};
    };
    const BuildOp back = [&](const std::vector<Value*>& v) {
      Graph& graph = v[0]->graph();
      return std::vector<Value*>{ops::dequantize(v[0], number(graph, 0.013f), zero_point(graph, dtype, 7))};
    };
    for (const Shape& shape : {Shape{1}, Shape{3, 17, 5}, Shape{2, 40000}}) {
      check_fast_path({floats(shape, -2, 2)}, forth, "native", 1e-9, false);
      check_fast_path({bytes(shape, dtype)}, back, "native", 1e-7, false);
    }
    check_fast_path({floats({0, 3}, -2, 2)}, forth, "", 1e-9, false);
    check_fast_path({bytes({0, 3}, dtype)}, back, "", 1e-9, false);
  }
}

TEST(Quantize, ScalesByChannel) {
  Graph graph;
  Value* x = graph.input("x", {DType::kI8, {2, 3}});
  graph.mark_output(ops::dequantize(x, graph.constant(Tensor::from<float>({3}, {1.0f, 0.5f, 2.0f})), nullptr, 1));
  const Tensor y = run_graph(graph, {Tensor::from<int8_t>({2, 3}, {1, 2, 3, -4, -5, -6})})[0];
  const std::vector<float> expected{1, 1, 6, -4, -2.5f, -12};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(y.data<float>()[i], expected[i]) << i;
}

struct ConvCase {
  Shape x, w;
  int64_t groups = 1, stride = 1, pad = 0;
};

BuildOp conv(const ConvCase& shapes, const ops::QuantizedResult& result, bool residual) {
  return [=](const std::vector<Value*>& v) {
    ops::ConvOptions options;
    options.groups = shapes.groups;
    options.strides.assign(static_cast<size_t>(shapes.x.rank() - 2), shapes.stride);
    options.pads.assign(static_cast<size_t>(shapes.x.rank() - 2), shapes.pad);
    return std::vector<Value*>{ops::quantized_conv(v[0], v[1], v[2], v[3], residual ? v[4] : nullptr, options, result)};
  };
}

std::vector<ops::QuantizedResult> results() {
  ops::QuantizedResult plain, to_u8, to_i8;
  to_u8.dtype = DType::kU8;
  to_u8.low = 0.0;
  to_i8.dtype = DType::kI8;
  to_i8.x_zero = 11;
  to_i8.zero = -5;
  to_i8.factor = 0.5;
  to_i8.low = -90.0;
  to_i8.high = 100.0;
  return {plain, to_u8, to_i8};
}

/// What multiplies bytes: oneDNN where the CPU has exact instructions for it, else the reference.
const char* integer_kernel() { return cpu_has_int8_products() ? "onednn" : "reference"; }

TEST(QuantizedConv, FastPathMatchesReference) {
  const std::vector<ConvCase> cases{{{2, 16, 6, 5}, {24, 16, 3, 3}, 1, 1, 1}, {{1, 3, 9, 9}, {17, 3, 3, 3}, 1, 2, 0},
                                    {{1, 64, 7, 7}, {32, 64, 1, 1}},          {{2, 16, 7, 7}, {16, 1, 3, 3}, 16, 1, 1},
                                    {{1, 8, 11}, {5, 8, 3}, 1, 1, 1},         {{2, 6, 5, 5}, {8, 3, 3, 3}, 2, 1, 1}};
  for (const ConvCase& shapes : cases) {
    const int64_t channels = shapes.w[0];
    std::vector<Operand> operands{bytes(shapes.x, DType::kU8), bytes(shapes.w, DType::kI8),
                                  floats({channels}, 0.001, 0.003), floats({channels}, -20, 20)};
    for (const ops::QuantizedResult& result : results()) {
      const double tolerance = result.dtype == DType::kF32 ? 1e-5 : kOneStep;
      check_fast_path(operands, conv(shapes, result, false), integer_kernel(), tolerance, false);
    }
  }
}

TEST(QuantizedConv, AddsResidualsOfAnyType) {
  const ConvCase shapes{{2, 16, 6, 5}, {32, 16, 1, 1}};
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kF32}) {
    const Shape y{2, 32, 6, 5};
    const std::vector<Operand> operands{bytes(shapes.x, DType::kI8), bytes(shapes.w, DType::kI8),
                                        floats({32}, 0.001, 0.003), floats({32}, -20, 20),
                                        dtype == DType::kF32 ? floats(y, -30, 30) : bytes(y, dtype)};
    for (const ops::QuantizedResult& result : results()) {
      const double tolerance = result.dtype == DType::kF32 ? 1e-5 : kOneStep;
      check_fast_path(operands, conv(shapes, result, true), integer_kernel(), tolerance, false);
    }
  }
}

TEST(QuantizedConv, TakesAnEmptyBatch) {
  check_fast_path(
      {bytes({0, 3, 5, 5}, DType::kU8), bytes({4, 3, 3, 3}, DType::kI8), floats({4}, 0, 1), floats({4}, 0, 1)},
      conv({{0, 3, 5, 5}, {4, 3, 3, 3}}, {}, false), "", 1e-9, false);
}

TEST(QuantizedLinear, FastPathMatchesReference) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    for (const Shape& x : {Shape{1, 33}, Shape{5, 64}, Shape{2, 3, 1}, Shape{0, 7}}) {
      const int64_t inputs = x[-1];
      const std::vector<Operand> operands{bytes(x, dtype), bytes({inputs, 19}, DType::kI8), floats({19}, 0.001, 0.003),
                                          floats({19}, -20, 20)};
      for (const ops::QuantizedResult& result : results()) {
        const BuildOp build = [&](const std::vector<Value*>& v) {
          return std::vector<Value*>{ops::quantized_linear(v[0], v[1], v[2], v[3], result)};
        };
        const double tolerance = result.dtype == DType::kF32 ? 1e-5 : kOneStep;
        check_fast_path(operands, build, x[0] == 0 ? "" : integer_kernel(), tolerance, false);
      }
    }
  }
}

TEST(DynamicLinear, FastPathMatchesReference) {
  for (const Shape& x : {Shape{1, 33}, Shape{5, 64}, Shape{2, 300, 96}, Shape{0, 7}}) {
    const int64_t inputs = x[-1];
    for (const bool has_bias : {false, true}) {
      const BuildOp build = [&](const std::vector<Value*>& v) {
        return std::vector<Value*>{ops::dynamic_linear(v[0], v[1], v[2], has_bias ? v[3] : nullptr)};
      };
      const std::vector<Operand> operands{floats(x, -1, 3), bytes({inputs, 19}, DType::kI8), floats({19}, 0.001, 0.003),
                                          floats({19}, -2, 2)};
      // A quotient that is rounded to the other side of a half changes one term of the sum.
      check_fast_path(operands, build, x[0] == 0 ? "" : integer_kernel(), 5e-3, false);
    }
  }
}

TEST(DynamicLinear, TakesZeros) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 4}});
  Value* w = graph.constant(random_tensor(DType::kI8, {4, 3}, 1, -127, 127));
  graph.mark_output(ops::dynamic_linear(x, w, graph.constant(Tensor::full<float>({3}, 0.1f))));
  const Tensor y = run_graph(graph, {Tensor::zeros(DType::kF32, {2, 4})})[0];
  for (int64_t i = 0; i < y.num_elements(); ++i) EXPECT_EQ(y.data<float>()[i], 0.0f);
}

TEST(QuantizedAdd, FastPathMatchesReference) {
  for (const DType a : {DType::kU8, DType::kI8}) {
    for (const DType b : {DType::kU8, DType::kI8}) {
      ops::QuantizedSum sum;
      sum.a_factor = 0.4;
      sum.b_factor = 0.7;
      sum.offset = -3.3;
      sum.dtype = a;
      if (b == DType::kI8) sum.low = 0.0;
      const BuildOp build = [&](const std::vector<Value*>& v) {
        return std::vector<Value*>{ops::quantized_add(v[0], v[1], sum)};
      };
      for (const Shape& shape : {Shape{1, 16, 5, 5}, Shape{2, 40001}}) {
        check_fast_path({bytes(shape, a), bytes(shape, b)}, build, "native", kOneStep, false);
      }
      check_fast_path({bytes({0, 3}, a), bytes({0, 3}, b)}, build, "", kOneStep, false);
    }
  }
}

TEST(MaxPool, TakesQuantisedValues) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    for (const bool ceil_mode : {false, true}) {
      const BuildOp build = [&](const std::vector<Value*>& v) {
        ops::PoolOptions options;
        options.kernel = {3, 3};
        options.strides = {2, 2};
        options.pads = {1, 1};
        options.ceil_mode = ceil_mode;
        return std::vector<Value*>{ops::max_pool(v[0], options)};
      };
      check_fast_path({bytes({2, 17, 8, 11}, dtype)}, build, "onednn", 1e-9, false);
    }
  }
}

TEST(Quantize, BadInputIsNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  Value* q = graph.input("q", {DType::kU8, {2, 3}});
  Value* w = graph.input("w", {DType::kI8, {3, 4}});
  Value* scales = graph.constant(Tensor::from<float>({2}, {1.0f, 2.0f}));
  EXPECT_NE(error_text([&] { ops::quantize(x, scales, nullptr, DType::kU8, 1, "q1"); }).find("quantize 'q1'"),
            std::string::npos);
  EXPECT_NE(error_text([&] { ops::quantize(x, number(graph, 1), nullptr, DType::kI64); }).find("i64"),
            std::string::npos);
  EXPECT_NE(error_text([&] { ops::quantized_linear(q, w, scales, nullptr, {}, "fc"); }).find("4 output channels"),
            std::string::npos);
}

}  // namespace
}  // namespace thalweg::testing
