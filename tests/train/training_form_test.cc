// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Models that come from files and are trained on: batch norms that learn or do not, dropout, what is frozen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_directory.h"
#include "thalweg/losses.h"
#include "thalweg/nn.h"
#include "thalweg/zoo.h"
#include "train/small_models.h"
#include "train/training_step.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Graph> small_resnet() {
  zoo::ImageOptions image;
  image.image_size = 32;
  image.classes = 5;
  image.width = 8;
  return zoo::resnet(18, image);
}

data::Batch picture_batch(uint64_t seed) {
  Tensor labels(DType::kI64, {4});
  for (int64_t i = 0; i < 4; ++i) labels.data<int64_t>()[i] = (i + static_cast<int64_t>(seed)) % 5;
  return {{random_tensor(DType::kF32, {4, 3, 32, 32}, seed)}, {labels}};
}

std::vector<double> losses_of(Model& model, int steps) {
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(model, losses::by_name("cross_entropy"), sgd, {});
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(step.run(picture_batch(static_cast<uint64_t>(i)), 0.05).loss);
  return losses;
}

Tensor any_running_mean(const Model& model) {
  for (const std::string& name : model.weight_names()) {
    if (name.find("running_mean") != std::string::npos) return model.weight(name);
  }
  return {};
}

TEST(TrainingForm, ASavedModelTrainsOnAsTheOriginalDoes) {
  const TemporaryDirectory folder;
  Model original(small_resnet());
  original.save(folder / "model.onnx");
  Model read = Model::load(folder / "model.onnx");
  EXPECT_EQ(read.graph().states().size(), original.graph().states().size());
  const std::vector<double> expected = losses_of(original, 4), actual = losses_of(read, 4);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-3 * expected[i]) << "step " << i;
  EXPECT_NE(expected.front(), expected.back());
  for (const std::string& name : original.weight_names()) {
    expect_close(read.weight(name), original.weight(name), 2e-3, name);
  }
  // What was trained is saved, and read again.
  read.save(folder / "again.onnx");
  const Model again = Model::load(folder / "again.onnx");
  const std::vector<Tensor> inputs = picture_batch(9).inputs;
  expect_close(again.predict(inputs)[0], read.predict(inputs)[0], 1e-4, "answers");
}

TEST(TrainingForm, BatchNormsLearnOnlyIfAsked) {
  const TemporaryDirectory folder;
  Model(small_resnet()).save(folder / "model.onnx");
  InferenceOptions options;
  options.train_batch_norm = onnx::BatchNormTraining::kFrozen;
  Model frozen = Model::load(folder / "model.onnx", options);
  EXPECT_TRUE(frozen.graph().states().empty());
  const Tensor before = any_running_mean(frozen).clone();
  losses_of(frozen, 2);
  expect_close(any_running_mean(frozen), before, 0.0, "statistics");
  options.train_batch_norm = onnx::BatchNormTraining::kLearned;
  Model learned = Model::load(folder / "model.onnx", options);
  losses_of(learned, 2);
  const Tensor after = any_running_mean(learned);
  double moved = 0;
  for (int64_t i = 0; i < after.num_elements(); ++i) {
    moved += std::abs(after.data<float>()[i] - before.data<float>()[i]);
  }
  EXPECT_GT(moved, 1e-4);
}

TEST(TrainingForm, WhatIsFrozenAndSmallStaysSo) {
  const TemporaryDirectory folder;
  Graph* graph = new Graph("m");
  Value* x = graph->input("x", {DType::kF32, {kFree, 3}});
  Value* weight = graph->parameter("weight", random_tensor(DType::kF32, {1, 3}, 1), false);
  Value* bias = graph->parameter("bias", random_tensor(DType::kF32, {1}, 2));
  graph->mark_output(ops::linear(x, weight, bias), "y");
  Model(std::unique_ptr<Graph>(graph)).save(folder / "m.onnx");
  const Model read = Model::load(folder / "m.onnx");
  ASSERT_EQ(read.graph().parameters().size(), 2U);
  for (const Value* parameter : read.graph().parameters()) {
    EXPECT_EQ(parameter->trainable(), parameter->name() == "bias") << parameter->name();
  }
}

TEST(TrainingForm, DropoutIsActiveInTrainingAlone) {
  const TemporaryDirectory folder;
  auto graph = std::make_unique<Graph>("m");
  Value* x = graph->input("x", {DType::kF32, {kFree, 64}});
  Value* weight = graph->parameter("weight", Tensor::full<float>({64}, 1.0F));
  graph->mark_output(ops::dropout(ops::mul(x, weight), 0.5, 7), "y");
  Model(std::move(graph)).save(folder / "m.onnx");
  Model read = Model::load(folder / "m.onnx");
  const Tensor ones = Tensor::full<float>({2, 64}, 1.0F);
  expect_close(read.predict({ones})[0], ones, 0.0, "predictions");
  optim::Optimizer sgd = optim::sgd();
  TrainingStep step(read, squared_error(), sgd, {});
  const StepResult result = step.run({{ones}, {ones}}, 0.0);
  int zeros = 0;
  for (int64_t i = 0; i < 128; ++i) zeros += result.outputs[0].data<float>()[i] == 0.0F ? 1 : 0;
  EXPECT_GT(zeros, 30);
  EXPECT_LT(zeros, 98);
}

TEST(TrainingForm, MetadataSurvivesTraining) {
  const TemporaryDirectory folder;
  Model(small_resnet()).save(folder / "model.onnx", {{"thalweg.class_names", "[\"a\"]"}, {"note", "first"}});
  Model read = Model::load(folder / "model.onnx");
  losses_of(read, 1);
  read.save(folder / "again.onnx", {{"note", "second"}});
  const Model again = Model::load(folder / "again.onnx");
  EXPECT_EQ(again.metadata().at("thalweg.class_names"), "[\"a\"]");
  EXPECT_EQ(again.metadata().at("note"), "second");
  EXPECT_EQ(again.metadata().count("thalweg.training"), 0U);
}

}  // namespace
}  // namespace thalweg::testing
