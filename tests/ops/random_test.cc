// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Numbers that are drawn: every run has its own, and they lie as they should.
#include "ops/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/program.h"
#include "support/error_text.h"
#include "support/op_check.h"

namespace thalweg::testing {
namespace {

constexpr int64_t kCount = 20000;

struct Moments {
  double mean = 0, deviation = 0;
  explicit Moments(const Tensor& x) {
    const auto count = static_cast<double>(x.num_elements());
    for (int64_t i = 0; i < x.num_elements(); ++i) mean += x.data<float>()[i] / count;
    for (int64_t i = 0; i < x.num_elements(); ++i) deviation += std::pow(x.data<float>()[i] - mean, 2) / count;
    deviation = std::sqrt(deviation);
  }
};

/// Two runs of one program.
std::vector<Tensor> two_runs(const std::function<Value*(Graph&)>& build) {
  auto graph = std::make_unique<Graph>();
  graph->mark_output(build(*graph));
  auto variables = std::make_shared<Variables>(*graph);
  Session session(Program::compile(std::move(graph), variables, {}));
  return {session.run({})[0].clone(), session.run({})[0].clone()};
}

bool same(const Tensor& a, const Tensor& b) {
  return std::equal(a.data<float>(), a.data<float>() + a.num_elements(), b.data<float>());
}

TEST(RandomUniform, LiesInItsIntervalAndIsDrawnAnew) {
  const auto build = [](int64_t seed) {
    return [seed](Graph& graph) { return ops::random_uniform(graph, nullptr, {kCount}, -1, 3, DType::kF32, seed); };
  };
  const std::vector<Tensor> runs = two_runs(build(5));
  const float* first = runs[0].data<float>();
  EXPECT_GE(*std::min_element(first, first + kCount), -1.0F);
  EXPECT_LT(*std::max_element(first, first + kCount), 3.0F);
  // The mean of so many deviates by 0.008 as a rule.
  EXPECT_NEAR(Moments(runs[0]).mean, 1.0, 0.06);
  EXPECT_NEAR(Moments(runs[0]).deviation, 4 / std::sqrt(12.0), 0.06);
  EXPECT_FALSE(same(runs[0], runs[1]));
  EXPECT_TRUE(same(runs[0], two_runs(build(5))[0]));
  EXPECT_FALSE(same(runs[0], two_runs(build(6))[0]));
}

TEST(RandomNormal, HasItsMeanAndDeviation) {
  const std::vector<Tensor> runs =
      two_runs([](Graph& graph) { return ops::random_normal(graph, nullptr, {kCount}, 2, 0.5, DType::kF32, 7); });
  EXPECT_NEAR(Moments(runs[0]).mean, 2.0, 0.03);
  EXPECT_NEAR(Moments(runs[0]).deviation, 0.5, 0.03);
  EXPECT_FALSE(same(runs[0], runs[1]));
}

TEST(RandomUniform, TakesItsShapeFromAValueOfAnyType) {
  Graph graph;
  Value* like = graph.input("like", {DType::kI64, {2, 3}});
  graph.mark_output(ops::random_uniform(graph, like, {}, 0, 1, DType::kF64, 1));
  const Tensor y = run_graph(graph, {Tensor::zeros(DType::kI64, {2, 3})})[0];
  EXPECT_EQ(y.type(), (TensorType{DType::kF64, {2, 3}}));
  EXPECT_THAT(error_text([&] { ops::random_uniform(graph, like, {}, 0, 1, DType::kI64, 1); }),
              ::testing::HasSubstr("random_uniform"));
}

}  // namespace
}  // namespace thalweg::testing
