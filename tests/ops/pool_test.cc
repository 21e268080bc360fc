// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct PoolCase {
  const char* name;
  Shape x;
  ops::PoolOptions options;
};

enum class PoolKind { kMax, kAverage };

BuildOp build(const PoolCase& test, PoolKind kind) {
  return [test, kind](const std::vector<Value*>& v) {
    ops::PoolOptions options = test.options;
    if (kind == PoolKind::kAverage) options.dilations.clear();
    return std::vector<Value*>{kind == PoolKind::kMax ? ops::max_pool(v[0], options) : ops::avg_pool(v[0], options)};
  };
}

const PoolCase kSmall[] = {
    {"plain", {2, 2, 4, 4}, {{2, 2}, {2, 2}, {}, {}, false, true}},
    {"overlapping", {1, 2, 7, 6}, {{3, 3}, {2, 2}, {1, 1}, {}, false, true}},
    {"ceil", {1, 2, 6, 7}, {{3, 2}, {2, 2}, {1, 0}, {}, true, true}},
    {"without_padding", {1, 1, 5, 5}, {{3, 3}, {1, 2}, {1, 1}, {}, true, false}},
    {"asymmetric", {1, 2, 5, 5}, {{2, 3}, {2, 1}, {0, 1, 1, 2}, {}, false, true}},
    {"dilated", {1, 1, 7, 7}, {{2, 3}, {1, 2}, {1, 1}, {2, 2}, false, true}},
    {"one_dimension", {2, 3, 9}, {{3}, {2}, {1}, {}, false, false}},
    {"three_dimensions", {1, 2, 4, 3, 5}, {{2, 2, 3}, {2, 1, 2}, {1, 0, 1}, {}, false, true}},
};

TEST(Pool, GradientsMatchCentralDifferences) {
  for (const PoolCase& test : kSmall) {
    SCOPED_TRACE(test.name);
    check_gradients({{test.x}}, build(test, PoolKind::kMax));
    check_gradients({{test.x}}, build(test, PoolKind::kAverage));
  }
}

TEST(Pool, AdaptiveGradientsMatchCentralDifferences) {
  for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{{1, 1}, {2, 3}, {5, 7}, {8, 4}}) {
    check_gradients({{{2, 2, 5, 7}}},
                    [&](const auto& v) { return std::vector<Value*>{ops::adaptive_avg_pool(v[0], size)}; });
    check_gradients({{{2, 2, 5, 7}}},
                    [&](const auto& v) { return std::vector<Value*>{ops::adaptive_max_pool(v[0], size)}; });
  }
  check_gradients({{{2, 3, 4, 3}}}, [](const auto& v) { return std::vector<Value*>{ops::global_avg_pool(v[0])}; });
  check_gradients({{{2, 3, 4, 3}}}, [](const auto& v) { return std::vector<Value*>{ops::global_max_pool(v[0])}; });
}

/// A convolution on both sides puts the pool on the layout that oneDNN chose.
BuildOp between_convolutions(const BuildOp& pool) {
  return [pool](const std::vector<Value*>& v) {
    Value* pooled = pool({ops::conv(v[0], v[1])})[0];
    return std::vector<Value*>{ops::conv(pooled, v[2])};
  };
}

/// Both kinds of pools, in plain and in blocked layouts, in f32 and in bf16, with or without gradients.
void check_with_channels(const PoolCase& test, int64_t channels, bool gradients) {
  SCOPED_TRACE(std::string(test.name) + " with " + std::to_string(channels) + " channels");
  Shape x = test.x;
  x[1] = channels;
  std::vector<int64_t> kernel(static_cast<size_t>(x.rank()), 1);
  kernel[0] = kernel[1] = channels;
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    check_fast_path({{x}}, build(test, kind), "native spatial", 2e-5, gradients);
    check_fast_path({{x}}, build(test, kind), "native spatial", 1e-2, gradients, DType::kBF16);
    check_fast_path({{x}, {Shape(kernel)}, {Shape(kernel)}}, between_convolutions(build(test, kind)), "native spatial",
                    2e-5, gradients);
  }
}

TEST(Pool, FastPathMatchesReference) {
  for (const PoolCase& test : kSmall) {
    for (const int64_t channels : {1, 3, 16, 17, 32}) {
      check_with_channels(test, channels, true);
    }
  }
}

/// Wide enough that registers are full in the middle of a line, and not at its ends. Without gradients nobody asks
/// where the maxima are, which other code is for.
TEST(Pool, InferenceMatchesReference) {
  const PoolCase cases[] = {
      {"stride_1", {1, 2, 9, 53}, {{3, 3}, {1, 1}, {1, 1}, {}, false, true}},
      {"stride_2", {1, 2, 9, 71}, {{3, 3}, {2, 2}, {1, 1}, {}, false, false}},
      {"stride_2_apart", {2, 1, 8, 70}, {{2, 2}, {2, 2}, {}, {}, false, true}},
      {"stride_3", {1, 1, 10, 67}, {{3, 4}, {3, 3}, {}, {}, true, true}},
      {"dilated", {1, 2, 11, 60}, {{3, 3}, {1, 2}, {2, 2}, {2, 2}, false, true}},
      {"long_windows", {1, 2, 5, 90}, {{1, 37}, {1, 5}, {0, 9}, {}, false, false}},
      {"one_dimension", {2, 3, 65}, {{5}, {1}, {2}, {}, false, false}},
      {"three_dimensions", {1, 2, 4, 5, 41}, {{2, 2, 3}, {2, 1, 1}, {1, 0, 1}, {}, false, true}},
      {"size_1", {1, 1, 1, 1}, {{1, 1}, {1, 1}, {}, {}, false, true}},
  };
  for (const PoolCase& test : cases) {
    for (const int64_t channels : {1, 3, 16, 17}) {
      check_with_channels(test, channels, false);
    }
  }
}

TEST(Pool, GlobalInferenceMatchesReference) {
  const auto mean = [](const auto& v) { return std::vector<Value*>{ops::global_avg_pool(v[0])}; };
  const auto largest = [](const auto& v) { return std::vector<Value*>{ops::global_max_pool(v[0])}; };
  for (const Shape& x :
       {Shape{2, 17, 7, 7}, Shape{1, 5, 40, 40}, Shape{3, 16, 1, 1}, Shape{2, 3, 33}, Shape{1, 2, 3, 4, 5}}) {
    for (const BuildOp& pool : std::vector<BuildOp>{mean, largest}) {
      check_fast_path({{x}}, pool, "native spatial", 2e-5, false);
      check_fast_path({{x}}, pool, "native spatial", 1e-2, false, DType::kBF16);
    }
  }
}

TEST(Pool, AdaptiveFastPathMatchesReference) {
  const auto global = [](const auto& v) { return std::vector<Value*>{ops::global_avg_pool(v[0])}; };
  const auto largest = [](const auto& v) { return std::vector<Value*>{ops::global_max_pool(v[0])}; };
  const auto adaptive = [](const auto& v) { return std::vector<Value*>{ops::adaptive_avg_pool(v[0], {3, 2})}; };
  for (const int64_t channels : {1, 17, 32}) {
    const Shape kernel{channels, channels, 1, 1};
    for (const BuildOp& pool : std::vector<BuildOp>{global, largest, adaptive}) {
      check_fast_path({{{2, channels, 7, 7}}}, pool, "native spatial");
      check_fast_path({{{2, channels, 7, 7}}, {kernel}, {kernel}}, between_convolutions(pool), "native spatial");
    }
  }
  check_fast_path({{{0, 16, 7, 7}}}, global);
  check_fast_path({{{1, 16, 40, 40}}}, largest, "native spatial");  // more taps than a byte counts
}

TEST(Pool, EmptyBatchGivesEmptyResult) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    check_fast_path({{{0, 16, 8, 8}}}, build(kSmall[1], kind));
  }
}

TEST(Pool, KeepsTheLayoutOfAConvolution) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 32, 16, 16}});
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {32, 32, 3, 3}, 1));
  Value* v = graph.parameter("v", random_tensor(DType::kF32, {32, 32, 3, 3}, 2));
  graph.mark_output(ops::conv(ops::max_pool(ops::conv(x, w), {{3, 3}, {2, 2}, {1, 1}, {}, false, true}), v));
  auto variables = std::make_shared<Variables>(graph);
  CompileOptions training;
  training.training = true;
  const auto program = Program::compile(graph.clone(), variables, training);
  for (size_t i = 1; i + 1 < program->steps().size(); ++i) {
    EXPECT_NE(program->steps()[i].label.substr(0, 7), "reorder") << program->explain();
  }
}

TEST(Pool, CeilModeFollowsPyTorch) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 3, 6, 5}});
  EXPECT_EQ(ops::max_pool(x, {{2, 2}, {3, 3}, {}, {}, true, true})->shape(), (Shape{kFree, 3, 2, 2}));
  EXPECT_EQ(ops::max_pool(x, {{3, 3}, {2, 2}, {1, 1}, {}, true, true})->shape(), (Shape{kFree, 3, 4, 3}));
}

TEST(Pool, NanAndMinusInfinityPass) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1, 1, 1, 4}});
  graph.mark_output(ops::max_pool(x, {{1, 2}, {1, 2}, {}, {}, false, true}));
  const Tensor y = run_graph(graph, {Tensor::from<float>({1, 1, 1, 4}, {-inf, -inf, nan, 1})})[0];
  EXPECT_EQ(y.data<float>()[0], -inf);
  EXPECT_TRUE(std::isnan(y.data<float>()[1]));
}

TEST(Pool, NanPassesWhereRegistersAreFull) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1, 1, 3, 64}});
  graph.mark_output(ops::max_pool(x, {{3, 3}, {1, 1}, {1, 1}, {}, false, true}));
  Tensor given = random_tensor(DType::kF32, {1, 1, 3, 64}, 1);
  given.data<float>()[64 + 30] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = run_graph(graph, {given})[0];
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const bool beside = i % 64 >= 29 && i % 64 <= 31;
    EXPECT_EQ(std::isnan(y.data<float>()[i]), beside) << i;
  }
}

TEST(Pool, BadInputIsNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 4, 4}});
  const auto expect_error = [](const std::function<void()>& body, const std::vector<std::string>& parts) {
    try {
      body();
      FAIL() << "no error";
    } catch (const Error& error) {
      for (const auto& part : parts) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  expect_error(
      [&] {
        ops::max_pool(x, {{5, 5}, {}, {}, {}, false, true}, "p");
      },
      {"max_pool 'p'", "5 elements", "[2,3,4,4]"});
  expect_error([&] { ops::avg_pool(x, {{2}, {}, {}, {}, false, true}); }, {"avg_pool", "kernel has 1 entries"});
  expect_error([&] { ops::max_pool(x, {{2, 2}, {}, {2, 2}, {}, false, true}); }, {"padding 2"});
  expect_error([&] { ops::avg_pool(x, {{2, 2}, {}, {}, {2, 2}, false, true}); }, {"no dilation"});
  expect_error([&] { ops::adaptive_avg_pool(x, {0, 1}); }, {"output_size must be at least 1"});
}

}  // namespace
}  // namespace thalweg::testing
