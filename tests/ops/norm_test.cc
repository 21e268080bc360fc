// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/kernel_check.h"
#include "support/op_check.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// Scale and shift stay f32 where activations are bf16.
Value* wide(Value* value) { return value->dtype() == DType::kBF16 ? ops::cast(value, DType::kF32) : value; }

BuildOp layer_norm(int64_t axis) {
  return [=](const std::vector<Value*>& v) {
    return std::vector<Value*>{
        ops::layer_norm(v[0], v.size() > 1 ? wide(v[1]) : nullptr, v.size() > 2 ? wide(v[2]) : nullptr, axis)};
  };
}

std::vector<Operand> layer_operands(const Shape& shape, int axis) {
  const Shape tail(std::vector<int64_t>(shape.dims().begin() + axis, shape.dims().end()));
  return {{shape, -2, 3}, {tail, 0.5, 1.5}, {tail}};
}

TEST(LayerNorm, GradientsMatchCentralDifferences) {
  check_gradients(layer_operands({3, 5}, 1), layer_norm(-1), {1e-6, 1e-5});
  check_gradients(layer_operands({2, 3, 4}, 1), layer_norm(1), {1e-6, 1e-5});
  check_gradients({{{2, 3, 4}}}, layer_norm(-1), {1e-6, 1e-5});
}

TEST(LayerNorm, FastPathMatchesReference) {
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, int>>{
           {{3, 17}, 1}, {{2, 100, 256}, 2}, {{4, 3, 5, 7}, 2}, {{1, 64}, 1}, {{70, 1000}, 1}, {{5, 3}, 1}}) {
    check_fast_path(layer_operands(shape, axis), layer_norm(axis), "native", 1e-4);
    check_fast_path(layer_operands(shape, axis), layer_norm(axis), "native", 1e-2, true, DType::kBF16);
    check_fast_path({{shape}}, layer_norm(axis), "native", 1e-4);
  }
  check_fast_path(layer_operands({0, 8}, 1), layer_norm(1));
  // The gradient is 0: what is left is the rounding of terms 300 times (epsilon's root) as large as others.
  check_fast_path(layer_operands({3, 1}, 1), layer_norm(1), "native", 3e-2);
}

BuildOp group_norm(int64_t groups) {
  return [=](const std::vector<Value*>& v) {
    return std::vector<Value*>{
        ops::group_norm(v[0], v.size() > 1 ? wide(v[1]) : nullptr, v.size() > 2 ? wide(v[2]) : nullptr, groups)};
  };
}

std::vector<Operand> group_operands(const Shape& shape) {
  return {{shape, -2, 3}, {{shape[1]}, 0.5, 1.5}, {{shape[1]}}};
}

TEST(GroupNorm, GradientsMatchCentralDifferences) {
  check_gradients(group_operands({2, 4, 3}), group_norm(2), {1e-6, 1e-5});
  check_gradients(group_operands({2, 3, 2, 2}), group_norm(3), {1e-6, 1e-5});
  check_gradients({{{2, 4, 3}}}, group_norm(1), {1e-6, 1e-5});
}

TEST(GroupNorm, FastPathMatchesReference) {
  for (const auto& [shape, groups] : std::vector<std::pair<Shape, int64_t>>{{{2, 6, 5, 5}, 3},
                                                                            {{3, 17, 9}, 1},
                                                                            {{2, 32, 14, 14}, 8},
                                                                            {{4, 16, 20, 20}, 16},
                                                                            {{3, 8}, 2},
                                                                            {{1, 4, 3, 1}, 2}}) {
    check_fast_path(group_operands(shape), group_norm(groups), "native", 1e-4);
    check_fast_path(group_operands(shape), group_norm(groups), "native", 2e-2, true, DType::kBF16);
    check_fast_path({{shape}}, group_norm(groups), "native", 1e-4);
  }
  check_fast_path(group_operands({0, 4, 2}), group_norm(2));
}

TEST(NormLayouts, OperandsStayAsTheyLie) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const double tolerance = dtype == DType::kF32 ? 1e-4 : 1e-2;
    const TensorType x{dtype, {3, 32, 6, 6}};
    const TensorType channels{DType::kF32, {32}};
    const TensorType groups{DType::kF32, {3, 4}};
    const Attributes relu{{"activation", std::string("relu")}};
    check_layouts("batch_norm", {x, channels, channels}, {}, tolerance);
    check_layouts("batch_norm", {x, channels, channels, x}, relu, tolerance);
    check_layouts("batch_norm_inference", {x, channels, channels, channels, channels}, {}, tolerance);
    check_layouts("batch_norm_grad", {x, x, channels, channels, channels}, {}, tolerance);
    check_layouts("batch_norm_grad", {x, x, channels, channels, channels, channels, x, x}, {{"residual_gradient", 1}},
                  tolerance);
    check_layouts("group_norm", {x, channels, channels}, {{"groups", int64_t{4}}}, tolerance);
    check_layouts("group_norm_grad", {x, x, groups, groups, channels}, {{"groups", int64_t{4}}}, tolerance);
  }
}

/// Large enough to be written around the caches.
TEST(NormLayouts, LargeActivationsAgreeToo) {
  const TensorType x{DType::kF32, {4, 64, 160, 160}};
  const TensorType channels{DType::kF32, {64}};
  check_layouts("batch_norm", {x, channels, channels}, {}, 1e-4);
  check_layouts("batch_norm_grad", {x, x, channels, channels, channels, channels}, {}, 1e-4);
}

TEST(GaussianNoise, HasTheMomentsAsked) {
  constexpr int64_t count = 200000;
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {count}});
  graph.mark_output(ops::gaussian_noise(x, 2.0, 5));
  const Tensor noise = run_graph(graph, {Tensor::full<float>({count}, 1.0F)})[0];
  double sum = 0, squares = 0, fourth = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double z = (noise.data<float>()[i] - 1.0) / 2.0;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.015);
  EXPECT_NEAR(fourth / count, 3, 0.15);
}

TEST(GaussianNoise, GradientAndFastPath) {
  const auto build = [](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::gaussian_noise(v[0], 0.4, 3)};
  };
  check_gradients({{{3, 4}}}, build);
  for (const Shape& shape : {Shape{3, 5}, Shape{1}, Shape{150, 151}}) check_fast_path({{shape}}, build, "native");
  check_fast_path({{{0, 3}}}, build, "reference");
}

TEST(Dropout, KeepsTheRightShareAndScale) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {400, 500}});
  graph.mark_output(ops::dropout(x, 0.25, 42));
  auto copy = graph.clone();
  auto variables = std::make_shared<Variables>(*copy);
  Session session(Program::compile(std::move(copy), variables));
  const std::vector<Tensor> input{Tensor::full<float>({400, 500}, 1.0F)};
  const Tensor first = session.run(input)[0].clone();
  const Tensor second = session.run(input)[0].clone();
  session.set_step(0);
  const Tensor again = session.run(input)[0].clone();
  double kept = 0, both = 0;
  for (int64_t i = 0; i < first.num_elements(); ++i) {
    const float value = first.data<float>()[i];
    ASSERT_TRUE(value == 0 || std::abs(value - 1 / 0.75F) < 1e-6F);
    ASSERT_EQ(value, again.data<float>()[i]);
    kept += value != 0 ? 1 : 0;
    both += value != 0 && second.data<float>()[i] != 0 ? 1 : 0;
  }
  EXPECT_NEAR(kept / 200000, 0.75, 0.005);
  EXPECT_NEAR(both / 200000, 0.75 * 0.75, 0.005) << "steps must be independent";
}

TEST(Dropout, BackwardDrawsTheSameMask) {
  const auto build = [](const std::vector<Value*>& v) { return std::vector<Value*>{ops::dropout(v[0], 0.4, 3)}; };
  check_gradients({{{5, 7}}}, build);
  for (const Shape& shape : {Shape{3, 17}, Shape{1}, Shape{300, 300}}) {
    check_fast_path({{shape}}, build, "native", 1e-6);
    check_fast_path({{shape}}, build, "native", 1e-2, true, DType::kBF16);
  }
  check_fast_path({{{0, 3}}}, build);
}

TEST(NormErrors, NameWhatDoesNotFit) {
  const auto expect_error = [](const std::function<void()>& action, const std::string& part) {
    try {
      action();
      FAIL() << "no error with " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 8, 4}});
  Value* four = graph.input("four", {DType::kF32, {4}});
  Value* five = graph.input("five", {DType::kF32, {5}});
  expect_error([&] { ops::layer_norm(x, five, four, -1, 1e-5, "ln"); }, "layer_norm 'ln': scale must be f32");
  expect_error([&] { ops::layer_norm(x, four, four, 3); }, "layer_norm");
  expect_error([&] { ops::group_norm(x, nullptr, nullptr, 3); }, "8 channels cannot be put into 3 groups");
  expect_error([&] { ops::group_norm(x, four, nullptr, 2); }, "scale must be");
  expect_error([&] { ops::gaussian_noise(x, -1.0, 1, "noise"); }, "gaussian_noise 'noise': deviation must be");
  expect_error([&] { ops::dropout(x, 1.0, 1, "drop"); }, "dropout 'drop': probability must be in [0, 1)");
}

}  // namespace
}  // namespace thalweg::testing
