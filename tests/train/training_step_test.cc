// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/small_models.h"

namespace thalweg::testing {
namespace {

/// The gradient of squared_error by hand: with respect to weight, then bias.
std::vector<std::vector<float>> gradient_by_hand(const Model& model, const data::Batch& batch) {
  const std::vector<float> w = floats(model.weight("layer.weight")), b = floats(model.weight("layer.bias"));
  const std::vector<float> x = floats(batch.inputs[0]), t = floats(batch.targets[0]);
  std::vector<std::vector<float>> result(2, std::vector<float>(w.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t f = i % w.size();
    const float d = 2 * (x[i] * w[f] + b[f] - t[i]) / static_cast<float>(x.size());
    result[0][f] += d * x[i];
    result[1][f] += d;
  }
  return result;
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << what << ' ' << i;
}

std::vector<float> moved(std::vector<float> from, const std::vector<float>& gradient, float rate) {
  for (size_t i = 0; i < from.size(); ++i) from[i] -= rate * gradient[i];
  return from;
}

TEST(TrainingStep, UpdatesByTheGradient) {
  Model model(affine_graph(3));
  const auto data = affine_data(8, 3);
  const data::Batch batch = rows_of(data, 0, 8);
  const auto gradient = gradient_by_hand(model, batch);
  const auto weight = moved(floats(model.weight("layer.weight")), gradient[0], 0.1F);
  const auto bias = moved(floats(model.weight("layer.bias")), gradient[1], 0.1F);
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, squared_error(), sgd, {});
  const StepResult result = step.run(batch, 0.1);
  EXPECT_TRUE(result.updated);
  EXPECT_EQ(result.outputs.size(), 1U);
  expect_near(floats(model.weight("layer.weight")), weight, "weight");
  expect_near(floats(model.weight("layer.bias")), bias, "bias");
  EXPECT_LT(step.run(batch, 0.1).loss, result.loss);
}

TEST(TrainingStep, PredictionsFollowTraining) {
  Model model(affine_graph(3));
  const auto data = affine_data(8, 3);
  const data::Batch batch = rows_of(data, 0, 8);
  const auto before = floats(model.predict(batch.inputs)[0]);
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, squared_error(), sgd, {});
  const StepResult first = step.run(batch, 0.1);
  EXPECT_EQ(floats(first.outputs[0]), before) << "the step's outputs are those before the update";
  const auto after = floats(model.predict(batch.inputs)[0]);
  EXPECT_NE(after, before);
  EXPECT_EQ(floats(step.run(batch, 0.1).outputs[0]), after);
}

TEST(TrainingStep, SharesWeightsBetweenBatchSizes) {
  Model model(affine_graph(3));
  const auto data = affine_data(10, 3);
  optim::Optimizer adam = optim::adam();
  TrainingStep step(model, squared_error(), adam, {});
  double loss = 0;
  for (int i = 0; i < 400; ++i) {
    step.run(rows_of(data, 0, 7), 0.05);
    loss = step.run(rows_of(data, 7, 10), 0.05).loss;
  }
  EXPECT_EQ(step.num_programs(), 2U);
  EXPECT_EQ(adam.num_parameters(), 2U);
  EXPECT_EQ(adam.updates(0), 800);
  EXPECT_LT(loss, 1e-3);
}

TEST(TrainingStep, AccumulatedBatchesEqualOneLargeOne) {
  const auto data = affine_data(10, 3);
  for (const double clip : {0.0, 0.05}) {
    Model whole(affine_graph(3)), parts(affine_graph(3));
    optim::Optimizer sgd_whole = optim::sgd(), sgd_parts = optim::sgd();
    TrainingStep one(whole, squared_error(), sgd_whole, {.clip_norm = clip});
    TrainingStep three(parts, squared_error(), sgd_parts, {.clip_norm = clip, .accumulate = 3});
    one.run(rows_of(data, 0, 10), 0.5);
    EXPECT_FALSE(three.run(rows_of(data, 0, 4), 0.5).updated);
    EXPECT_FALSE(three.run(rows_of(data, 4, 8), 0.5).updated);
    EXPECT_TRUE(three.run(rows_of(data, 8, 10), 0.5).updated);
    expect_near(floats(parts.weight("layer.weight")), floats(whole.weight("layer.weight")), "weight");
    EXPECT_FALSE(three.flush(0.5));
    three.run(rows_of(data, 0, 4), 0.5);
    EXPECT_TRUE(three.flush(0.5));
    one.run(rows_of(data, 0, 4), 0.5);
    expect_near(floats(parts.weight("layer.bias")), floats(whole.weight("layer.bias")), "bias");
  }
}

TEST(TrainingStep, ClipsTheNormOverAllGradients) {
  Model model(affine_graph(3));
  const auto data = affine_data(8, 3);
  const data::Batch batch = rows_of(data, 0, 8);
  auto gradient = gradient_by_hand(model, batch);
  double norm = 0;
  for (const auto& part : gradient) {
    for (const float g : part) norm += static_cast<double>(g) * g;
  }
  norm = std::sqrt(norm);
  const double limit = norm / 4;
  const auto weight = moved(floats(model.weight("layer.weight")), gradient[0], static_cast<float>(0.1 * limit / norm));
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, squared_error(), sgd, {.clip_norm = limit});
  step.run(batch, 0.1);
  expect_near(floats(model.weight("layer.weight")), weight, "weight");
}

TEST(TrainingStep, ANonFiniteLossChangesNothing) {
  const auto data = affine_data(4, 3);
  data::Batch bad = rows_of(data, 0, 4);
  bad.inputs[0].data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  for (const StepOptions& options : {StepOptions{}, StepOptions{.clip_norm = 1}, StepOptions{.accumulate = 2}}) {
    Model model(affine_graph(3, true));
    optim::Optimizer sgd = optim::sgd();
    TrainingStep step(model, squared_error(), sgd, options);
    const auto weight = floats(model.weight("layer.weight"));
    EXPECT_THROW(step.run(bad, 0.1), NonFiniteLoss);
    EXPECT_EQ(floats(model.weight("layer.weight")), weight);
    EXPECT_EQ(floats(model.weight("layer.seen")), (std::vector<float>{0, 0, 0}));
    EXPECT_NO_THROW(step.run(rows_of(data, 0, 4), 0.1));
  }
}

TEST(TrainingStep, FrozenParametersStay) {
  Model model(affine_graph(3));
  const auto data = affine_data(4, 3);
  const data::Batch batch = rows_of(data, 0, 4);
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, squared_error(), sgd, {});
  step.run(batch, 0.1);
  model.freeze("*.weight");
  const auto weight = floats(model.weight("layer.weight")), bias = floats(model.weight("layer.bias"));
  step.run(batch, 0.1);
  EXPECT_EQ(floats(model.weight("layer.weight")), weight);
  EXPECT_NE(floats(model.weight("layer.bias")), bias);
  model.unfreeze("*");
  step.run(batch, 0.1);
  EXPECT_NE(floats(model.weight("layer.weight")), weight);
  model.freeze("*");
  EXPECT_THROW(step.run(batch, 0.1), Error);
}

TEST(TrainingStep, StatesAreAssigned) {
  Model model(affine_graph(2, true));
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, squared_error(), sgd, {});
  const data::Batch batch{{Tensor::full<float>({3, 2}, 2.0F)}, {Tensor::full<float>({3, 2}, 1.0F)}};
  step.run(batch, 0.1);
  step.run(batch, 0.1);
  EXPECT_EQ(floats(model.weight("layer.seen")), (std::vector<float>{12, 12}));
}

/// Rows of a table, chosen by number.
std::unique_ptr<Graph> table_graph() {
  auto graph = std::make_unique<Graph>("table");
  Value* rows = graph->input("rows", {DType::kI64, {kFree}});
  Value* table = graph->parameter("table", random_tensor(DType::kF32, {6, 4}, 1));
  graph->mark_output(ops::embedding(table, rows));
  return graph;
}

TEST(TrainingStep, SparseGradientsTouchTheirRowsAlone) {
  // Row 2 is read twice: its two gradients add up before the step and before the norm is taken.
  const data::Batch batch{{Tensor::from<int64_t>({3}, {2, 5, 2})}, {Tensor::zeros(DType::kF32, {3, 4})}};
  Model model(table_graph());
  const std::vector<float> before = floats(model.weight("table"));
  double norm = 0;
  for (size_t i = 0; i < 4; ++i) {
    norm += std::pow(2 * 2 * before[8 + i] / 12, 2) + std::pow(2 * before[20 + i] / 12, 2);
  }
  norm = std::sqrt(norm);
  for (const StepOptions& options : {StepOptions{}, StepOptions{.clip_norm = norm / 2}, StepOptions{.accumulate = 2}}) {
    Model trained(table_graph());
    optim::Optimizer sgd = optim::sgd();
    TrainingStep step(trained, squared_error(), sgd, options);
    for (int i = 0; i < options.accumulate; ++i) step.run(batch, 1.0);
    const std::vector<float> after = floats(trained.weight("table"));
    const float scale = options.clip_norm > 0 ? 0.5F : 1.0F;
    for (size_t i = 0; i < before.size(); ++i) {
      const float times = i / 4 == 2 ? 2.0F : i / 4 == 5 ? 1.0F : 0.0F;
      EXPECT_NEAR(after[i], before[i] - scale * times * 2 * before[i] / 12, 1e-6) << i;
    }
  }
}

TEST(TrainingStep, RejectsALossThatIsNoScalar) {
  Model model(affine_graph(3));
  const auto data = affine_data(4, 3);
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, [](Value* y, Value* t) { return ops::sub(y, t); }, sgd, {});
  EXPECT_THROW(step.run(rows_of(data, 0, 4), 0.1), Error);
  TrainingStep no_target(model, squared_error(), sgd, {});
  EXPECT_THROW(no_target.run({{Tensor::zeros(DType::kF32, {4, 3})}, {}}, 0.1), Error);
}

}  // namespace
}  // namespace thalweg::testing
