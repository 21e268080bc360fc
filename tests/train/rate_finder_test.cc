// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/rate_finder.h"

#include <gtest/gtest.h>

#include "thalweg/losses.h"
#include "thalweg/nn.h"

namespace thalweg {
namespace {

Model regression() {
  auto graph = std::make_unique<Graph>("regression");
  Value* x = graph->input("x", {DType::kF32, {kFree, 2}});
  graph->mark_output(nn::Linear(2, 1).forward(nn::Scope(*graph), x));
  return Model(std::move(graph));
}

/// y = 3 a - 2 b.
data::TensorDataset plane(int64_t count) {
  Tensor x(DType::kF32, {count, 2}), y(DType::kF32, {count, 1});
  for (int64_t i = 0; i < count; ++i) {
    const auto a = static_cast<float>(i % 7) / 3 - 1, b = static_cast<float>(i % 5) / 2 - 1;
    x.data<float>()[2 * i] = a;
    x.data<float>()[2 * i + 1] = b;
    y.data<float>()[i] = 3 * a - 2 * b;
  }
  return data::TensorDataset({x}, {y});
}

TEST(RateFinder, SuggestsARateThatLearnsAndLeavesTheWeights) {
  Model model = regression();
  const Tensor before = model.weight("weight");
  const data::TensorDataset data = plane(256);
  const Loss loss = losses::by_name("mse");
  const RateCurve curve = find_learning_rate(model, loss, optim::sgd(), data, {.batch_size = 32}, {.highest = 100.0});
  EXPECT_GT(curve.suggestion, 1e-3);
  EXPECT_LT(curve.suggestion, 2.0);
  EXPECT_LT(curve.rates.size(), 100U) << "it should have given up when the loss exploded";
  const Tensor after = model.weight("weight");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(after.data<float>()[i], before.data<float>()[i]);

  Trainer trainer(model, loss, optim::sgd(),
                  {.epochs = 20, .batch_size = 32, .learning_rate = curve.suggestion, .progress = ShowProgress::kNone});
  EXPECT_LT(trainer.fit(data).back().loss, 0.1);
}

TEST(RateFinder, RefusesRangesWithoutSense) {
  Model model = regression();
  const Loss loss = losses::by_name("mse");
  EXPECT_THROW(find_learning_rate(model, loss, optim::sgd(), plane(8), {}, {.lowest = 0.0}), Error);
  EXPECT_THROW(find_learning_rate(model, loss, optim::sgd(), plane(8), {}, {.lowest = 1.0, .highest = 0.5}), Error);
}

}  // namespace
}  // namespace thalweg
