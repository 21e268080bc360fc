// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/cpu.h"
#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg::testing {
namespace {

int count(const Graph& graph, const std::string& op) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [&](const auto& node) { return node->op_name() == op; }));
}

/// Quantises and takes back, as models that were quantised do around every product.
struct Quantizer {
  Graph& graph;

  Value* number(float value) const { return graph.constant(Tensor::scalar<float>(value)); }
  Value* zero(int value, DType dtype) const { return graph.constant(Tensor::scalar<int32_t>(value).to(dtype)); }
  Value* there_and_back(Value* x, float scale, int zero_point, DType dtype = DType::kU8) const {
    Value* q = ops::quantize(x, number(scale), zero(zero_point, dtype), dtype);
    return ops::dequantize(q, number(scale), zero(zero_point, dtype));
  }
  Value* weights(const Shape& shape, uint64_t seed, int64_t axis) const {
    const Tensor scales = random_tensor(DType::kF32, {shape[static_cast<int>(axis)]}, seed + 1, 0.002, 0.006);
    return ops::dequantize(graph.constant(random_tensor(DType::kI8, shape, seed, -127, 127)), graph.constant(scales),
                           nullptr, axis);
  }
  Value* bias(int64_t channels, uint64_t seed) const {
    return graph.constant(random_tensor(DType::kF32, {channels}, seed));
  }
};

/// The graph as it is, by reference kernels, against what preparing for inference makes of it.
void expect_same(Graph& graph, const std::vector<Tensor>& inputs, double tolerance) {
  CompileOptions plain;
  plain.only_kernels = {"reference"};
  const std::vector<Tensor> expected = run_graph(graph, inputs, plain);
  prepare_for_inference(graph);
  graph.verify();
  const std::vector<Tensor> actual = run_graph(graph, inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) expect_close(actual[i], expected[i], tolerance, "output");
}

TEST(UseInt8, MultipliesIntegersInABlockWithAResidual) {
  for (const bool quantised_sum : {false, true}) {
    Graph graph;
    const Quantizer q{graph};
    Value* x = q.there_and_back(graph.input("x", {DType::kF32, {2, 16, 7, 7}}), 0.01f, 100);
    ops::ConvOptions same;
    same.pads = {1, 1};
    Value* hidden = ops::relu(ops::conv(x, q.weights({32, 16, 3, 3}, 1, 0), q.bias(32, 2), same));
    hidden = q.there_and_back(hidden, 0.03f, 0);
    Value* back = ops::conv(hidden, q.weights({16, 32, 1, 1}, 3, 0), q.bias(16, 4));
    // Some quantise what goes into a sum, which then is a sum of integers; others leave it to the convolution.
    if (quantised_sum) back = q.there_and_back(back, 0.05f, 120);
    Value* y = q.there_and_back(ops::relu(ops::add(back, x)), 0.04f, 0);
    graph.mark_output(y);
    expect_same(graph, {random_tensor(DType::kF32, {2, 16, 7, 7}, 9)}, 0.02);
    if (!cpu_has_int8_products()) continue;
    EXPECT_EQ(count(graph, "quantized_conv"), 2);
    EXPECT_EQ(count(graph, "quantized_add"), quantised_sum ? 1 : 0);
    EXPECT_EQ(count(graph, "quantize"), 1) << graph.to_string();
    EXPECT_EQ(count(graph, "dequantize"), 1) << graph.to_string();
  }
}

TEST(UseInt8, MultipliesMatrices) {
  Graph graph;
  const Quantizer q{graph};
  Value* x = q.there_and_back(graph.input("x", {DType::kF32, {5, 40}}), 0.01f, 0, DType::kI8);
  Value* hidden = ops::linear(x, q.weights({24, 40}, 1, 0), q.bias(24, 2), "relu");
  Value* y = ops::matmul(q.there_and_back(hidden, 0.02f, 3), q.weights({24, 6}, 3, 1));
  graph.mark_output(y);
  expect_same(graph, {random_tensor(DType::kF32, {5, 40}, 9)}, 0.02);
  if (!cpu_has_int8_products()) return;
  EXPECT_EQ(count(graph, "quantized_linear"), 2) << graph.to_string();
  EXPECT_EQ(count(graph, "dequantize"), 0) << graph.to_string();
}

TEST(UseInt8, PoolsAndMovesIntegers) {
  Graph graph;
  const Quantizer q{graph};
  Value* x = q.there_and_back(graph.input("x", {DType::kF32, {2, 16, 8, 8}}), 0.01f, 90);
  ops::PoolOptions pool;
  pool.kernel = {2, 2};
  pool.strides = {2, 2};
  Value* pooled = q.there_and_back(ops::max_pool(x, pool), 0.01f, 90);
  Value* flat = q.there_and_back(ops::reshape(pooled, {2, 256}), 0.01f, 90);
  graph.mark_output(ops::linear(flat, q.weights({10, 256}, 1, 0), q.bias(10, 2)));
  expect_same(graph, {random_tensor(DType::kF32, {2, 16, 8, 8}, 9)}, 1e-5);
  EXPECT_EQ(count(graph, "quantize"), 1) << graph.to_string();
  if (!cpu_has_int8_products()) return;
  EXPECT_EQ(count(graph, "dequantize"), 0) << graph.to_string();
  EXPECT_EQ(count(graph, "quantized_linear"), 1);
}

TEST(UseInt8, MultipliesWithTheRangeOfEachRun) {
  Graph graph;
  const Quantizer q{graph};
  Value* x = graph.input("x", {DType::kF32, {5, 40}});
  const std::vector<Value*> quantised = ops::dynamic_quantize(x);
  Value* w = graph.constant(random_tensor(DType::kI8, {40, 24}, 1, -127, 127));
  Value* sums = ops::cast(ops::matmul_integer(quantised[0], w, quantised[2]), DType::kF32);
  Value* scales = graph.constant(random_tensor(DType::kF32, {24}, 2, 0.002, 0.006));
  graph.mark_output(ops::add(ops::mul(sums, ops::mul(quantised[1], scales)), q.bias(24, 3)));
  expect_same(graph, {random_tensor(DType::kF32, {5, 40}, 9)}, 5e-3);
  EXPECT_EQ(count(graph, "matmul_integer"), 0);
  if (!cpu_has_int8_products()) return;
  EXPECT_EQ(count(graph, "dynamic_linear"), 1);
  EXPECT_EQ(graph.nodes().size(), 1U) << graph.to_string();
}

TEST(UseInt8, LeavesWhatItCannotMultiply) {
  Graph graph;
  const Quantizer q{graph};
  Value* x = q.there_and_back(graph.input("x", {DType::kF32, {2, 8, 5, 5}}), 0.01f, 90);
  // Zeros other than 0 on the weights' side, scales along another axis, weights of 16 bits.
  Value* shifted = ops::dequantize(graph.constant(random_tensor(DType::kI8, {8, 8, 1, 1}, 1, -127, 127)),
                                   q.number(0.01f), q.zero(3, DType::kI8));
  Value* wide =
      ops::dequantize(graph.constant(random_tensor(DType::kI16, {8, 8, 1, 1}, 2, -127, 127)), q.number(0.01f), nullptr);
  for (Value* weight : {shifted, q.weights({8, 8, 1, 1}, 5, 1), wide}) graph.mark_output(ops::conv(x, weight));
  expect_same(graph, {random_tensor(DType::kF32, {2, 8, 5, 5}, 9)}, 1e-5);
  EXPECT_EQ(count(graph, "quantized_conv"), 0);
}

}  // namespace
}  // namespace thalweg::testing
