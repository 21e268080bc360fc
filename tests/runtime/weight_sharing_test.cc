// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Programs for several shapes of one model's inputs share what they derive from its weights.
#include <gtest/gtest.h>

#include "runtime/program.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

class WeightSharing : public ::testing::Test {
 protected:
  static constexpr int64_t kWidth = 48;

  WeightSharing() {
    std::vector<StoredWeight> weights{{"w", weight_.type(), [this] { return weight_; }}};
    variables_ = std::make_shared<Variables>(std::move(weights));
  }

  /// y = x (w * w), for so many rows, with another function of w where that is asked for.
  std::shared_ptr<Program> compile(int64_t rows, bool halved = false) {
    auto graph = std::make_unique<Graph>("rows");
    Value* x = graph->input("x", {DType::kF32, {rows, kWidth}});
    Value* w = graph->held_parameter("w", weight_.type());
    Value* derived = ops::mul(w, w);
    if (halved) derived = ops::mul(derived, graph->constant(Tensor::scalar<float>(0.5F)));
    graph->mark_output(ops::matmul(x, derived));
    return Program::compile(std::move(graph), variables_);
  }

  void expect_right(const std::shared_ptr<Program>& program, int64_t rows, double factor = 1.0) {
    const std::vector<Tensor> inputs{random_tensor(DType::kF32, {rows, kWidth}, 2)};
    Tensor expected(DType::kF32, {rows, kWidth});
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < kWidth; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < kWidth; ++i) {
          const double w = weight_.data<float>()[i * kWidth + c];
          sum += inputs[0].data<float>()[r * kWidth + i] * w * w * factor;
        }
        expected.data<float>()[r * kWidth + c] = static_cast<float>(sum);
      }
    }
    expect_close(Session(program).run(inputs)[0], expected, 1e-5, "rows " + std::to_string(rows));
  }

  Tensor weight_ = random_tensor(DType::kF32, {kWidth, kWidth}, 1);
  std::shared_ptr<Variables> variables_;
};

TEST_F(WeightSharing, TheSecondProgramDerivesNothing) {
  auto first = compile(3);
  EXPECT_FALSE(first->prologue().empty());
  EXPECT_GT(first->persistent_bytes(), 0U);
  expect_right(first, 3);
  auto second = compile(3);
  EXPECT_TRUE(second->prologue().empty());
  EXPECT_EQ(second->persistent_bytes(), 0U);
  first = nullptr;
  expect_right(second, 3);
  second = nullptr;
  EXPECT_GT(compile(3)->persistent_bytes(), 0U) << "it went with the last one";
}

TEST_F(WeightSharing, NothingIsTakenThatIsNotMadeYet) {
  const auto first = compile(3), second = compile(3);
  expect_right(second, 3);
  expect_right(first, 3);
}

TEST_F(WeightSharing, OtherFunctionsOfAWeightAreNotMixedUp) {
  const auto first = compile(2);
  expect_right(first, 2);
  const auto halved = compile(2, true);
  expect_right(halved, 2, 0.5);
  expect_right(compile(5, true), 5, 0.5);
  expect_right(compile(7), 7);
  expect_right(first, 2);
}

TEST_F(WeightSharing, WeightsThatMayChangeAreNotShared) {
  auto graph = std::make_unique<Graph>("own weights");
  Value* x = graph->input("x", {DType::kF32, {2, kWidth}});
  Value* w = graph->parameter("w", weight_.clone());
  graph->mark_output(ops::matmul(x, ops::mul(w, w)));
  auto copy = graph->clone();
  const auto variables = std::make_shared<Variables>(*graph);
  const auto first = Program::compile(std::move(graph), variables);
  expect_right(first, 2);
  const auto second = Program::compile(std::move(copy), variables);
  EXPECT_FALSE(second->prologue().empty());
  variables->write(0, Tensor::zeros(DType::kF32, weight_.shape()));
  expect_right(second, 2, 0.0);
}

}  // namespace
}  // namespace thalweg::testing
