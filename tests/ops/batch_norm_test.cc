// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_check.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// Scale, shift and statistics stay f32 where activations are bf16.
Value* wide(Value* value) { return value->dtype() == DType::kBF16 ? ops::cast(value, DType::kF32) : value; }

struct Case {
  const char* name;
  bool residual;
  const char* activation;
};

class BatchNorm : public ::testing::TestWithParam<Case> {
 protected:
  static std::vector<Operand> operands(const Shape& shape) {
    std::vector<Operand> result{{shape, -2, 3}, {{shape[1]}, 0.5, 1.5}, {{shape[1]}, -0.5, 0.5}};
    if (GetParam().residual) result.push_back({shape});
    return result;
  }
  static BuildOp build() {
    return [](const std::vector<Value*>& v) {
      return std::vector<Value*>{
          ops::batch_norm(v[0], wide(v[1]), wide(v[2]), v.size() > 3 ? v[3] : nullptr, 1e-5, GetParam().activation).y};
    };
  }
};

TEST_P(BatchNorm, GradientsMatchCentralDifferences) {
  for (const Shape& shape : {Shape{3, 2, 2, 2}, Shape{5, 3}, Shape{2, 1, 3}}) {
    check_gradients(operands(shape), build(), {1e-6, 1e-5});
  }
}

TEST_P(BatchNorm, FastPathMatchesReference) {
  for (const Shape& shape : {Shape{2, 16, 7, 7}, Shape{3, 17, 5, 5}, Shape{4, 3, 9}, Shape{2, 1, 4, 4}, Shape{33, 70},
                             Shape{2, 600, 3, 3}, Shape{4, 32, 40, 40}}) {
    check_fast_path(operands(shape), build(), "native", 1e-4);
    check_fast_path(operands(shape), build(), "native", 1e-2, true, DType::kBF16);
  }
}

TEST_P(BatchNorm, EmptyBatchAndSingleElementWork) {
  check_fast_path(operands({0, 4, 2, 2}), build());
  // The gradient is 0: what is left is the rounding of terms 300 times (epsilon's root) as large as others.
  for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{1, 8}}) check_fast_path(operands(shape), build(), "native", 3e-2);
}

INSTANTIATE_TEST_SUITE_P(All, BatchNorm,
                         ::testing::Values(Case{"plain", false, ""}, Case{"relu", false, "relu"},
                                           Case{"residual", true, ""}, Case{"residual_relu", true, "relu"}),
                         [](const auto& test) { return test.param.name; });

TEST(BatchNormStatistics, AreExactForLargeMeans) {
  Graph graph;
  const Shape shape{8, 16, 28, 28};
  Value* x = graph.input("x", {DType::kF32, shape});
  Value* scale = graph.constant(Tensor::full<float>({16}, 1.0F));
  const ops::BatchNormOutputs norm = ops::batch_norm(x, scale, graph.constant(Tensor::zeros(DType::kF32, {16})));
  graph.mark_output(norm.mean);
  graph.mark_output(norm.variance);
  const Tensor noise = random_tensor(DType::kF64, shape, 3, -1, 1);
  Tensor data(DType::kF32, shape);
  for (int64_t i = 0; i < data.num_elements(); ++i) {
    data.data<float>()[i] = static_cast<float>(10000.0 + noise.data<double>()[i]);
  }
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  const std::vector<Tensor> expected = run_graph(graph, {data}, reference);
  const std::vector<Tensor> actual = run_graph(graph, {data});
  expect_close(actual[0], expected[0], 1e-7, "mean");
  expect_close(actual[1], expected[1], 1e-5, "variance");
  EXPECT_NEAR(expected[1].data<float>()[0], 1.0 / 3, 0.02);
}

TEST(BatchNormStatistics, AreTheSameBitsInEveryRun) {
  Graph graph;
  const Shape shape{16, 48, 14, 14};
  Value* x = graph.input("x", {DType::kF32, shape});
  Value* scale = graph.constant(Tensor::full<float>({48}, 1.0F));
  const ops::BatchNormOutputs norm = ops::batch_norm(x, scale, scale, nullptr, 1e-5, "relu");
  const Gradient gradient = differentiate(graph, ops::reduce_sum(ops::mul(norm.y, x)), {x})[0];
  for (Value* value : {norm.mean, norm.variance, gradient.dense}) graph.mark_output(value);
  const Tensor data = random_tensor(DType::kF32, shape, 3);
  CompileOptions options;
  options.threads = 2;
  const std::vector<Tensor> first = run_graph(graph, {data}, options);
  const std::vector<Tensor> second = run_graph(graph, {data}, options);
  for (size_t i = 0; i < first.size(); ++i) expect_close(first[i], second[i], 0, "output " + std::to_string(i));
}

TEST(BatchNormGrad, AddsASecondGradient) {
  const auto build = [](const std::vector<Value*>& v) {
    const Node* node =
        v[0]->graph().add("batch_norm_grad", {v[0], v[1], wide(v[2]), wide(v[3]), wide(v[4]), nullptr, v[5], v[6]},
                          {{"residual_gradient", 1}});
    return std::vector<Value*>{node->output(0), node->output(1), node->output(2), node->output(3)};
  };
  const Shape shape{3, 16, 5, 5};
  const Operand channels{{16}, 0.5, 1.5};
  const std::vector<Operand> operands{{shape}, {shape}, channels, channels, channels, {shape}, {shape}};
  check_fast_path(operands, build, "native", 1e-4, false);
  check_fast_path(operands, build, "native", 1e-2, false, DType::kBF16);
}

TEST(BatchNormInference, GradientsTreatStatisticsAsConstants) {
  const auto build = [](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::batch_norm_inference(v[0], wide(v[1]), wide(v[2]), wide(v[3]), wide(v[4]))};
  };
  const auto operands = [](const Shape& shape) {
    const Shape channels{shape[1]};
    return std::vector<Operand>{{shape},
                                {channels, 0.5, 1.5},
                                {channels},
                                {channels, -1, 1, DType::kF64, false},
                                {channels, 0.5, 1.5, DType::kF64, false}};
  };
  check_gradients(operands({2, 3, 2, 2}), build);
  for (const Shape& shape : {Shape{2, 17, 5, 5}, Shape{3, 16}, Shape{1, 3, 40, 40}}) {
    check_fast_path(operands(shape), build, "native", 1e-4);
    check_fast_path(operands(shape), build, "native", 1e-2, true, DType::kBF16);
  }
  check_fast_path(operands({0, 3, 2}), build);
}

void expect_error(const std::function<void()>& action, const std::string& part) {
  try {
    action();
    FAIL() << "no error with " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(BatchNormErrors, NameTheNodeAndWhatDoesNotFit) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 8, 4, 4}});
  Value* eight = graph.input("eight", {DType::kF32, {8}});
  Value* nine = graph.input("nine", {DType::kF32, {9}});
  Value* narrow = graph.input("narrow", {DType::kBF16, {8}});
  Value* other = graph.input("other", {DType::kF32, {kFree, 8, 2, 4}});
  expect_error([&] { ops::batch_norm(x, nine, eight, nullptr, 1e-5, "", "bn1"); },
               "batch_norm 'bn1': scale must be f32");
  expect_error([&] { ops::batch_norm(x, eight, narrow); }, "shift must be");
  expect_error([&] { ops::batch_norm(x, eight, eight, other); }, "residual must be like x");
  expect_error([&] { ops::batch_norm(x, eight, eight, nullptr, 1e-5, "tanh"); }, "unknown activation 'tanh'");
  expect_error([&] { ops::batch_norm(eight, eight, eight); }, "[N, C, ...]");
  expect_error([&] { ops::batch_norm_inference(x, eight, eight, nine, eight); }, "mean must be");
}

}  // namespace
}  // namespace thalweg::testing
