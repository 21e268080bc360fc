// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "model/model_impl.h"
#include "train/small_models.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

Tensor expected_affine(const Model& model, const Tensor& x) {
  const Tensor weight = model.weight("layer.weight"), bias = model.weight("layer.bias");
  Tensor y(x.type());
  const int64_t features = x.shape()[1];
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    y.data<float>()[i] = x.data<float>()[i] * weight.data<float>()[i % features] + bias.data<float>()[i % features];
  }
  return y;
}

TEST(Model, PredictsForAnyBatchSize) {
  Model model(affine_graph(3));
  for (const int64_t rows : {4, 1, 7, 4}) {
    const Tensor x = random_tensor(DType::kF32, {rows, 3}, 9);
    const auto outputs = model.predict({x});
    ASSERT_EQ(outputs.size(), 1U);
    expect_close(outputs[0], expected_affine(model, x), 1e-6, "prediction");
  }
}

TEST(Model, SeesChangedWeights) {
  Model model(affine_graph(2));
  const Tensor x = Tensor::full<float>({1, 2}, 1.0F);
  model.predict({x});
  model.set_weight("layer.weight", Tensor::from<float>({2}, {5, 6}));
  model.set_weight("layer.bias", Tensor::from<float>({2}, {1, 1}));
  EXPECT_EQ(floats(model.predict({x})[0]), (std::vector<float>{6, 7}));
}

TEST(Model, PredictionLeavesStatesAlone) {
  Model model(affine_graph(2, true));
  model.predict({Tensor::full<float>({3, 2}, 1.0F)});
  EXPECT_EQ(floats(model.weight("layer.seen")), (std::vector<float>{0, 0}));
}

TEST(Model, KeepsABoundedNumberOfPrograms) {
  Model model(affine_graph(2), {.max_programs = 2});
  for (const int64_t rows : {1, 2, 3, 4, 3}) model.predict({Tensor::zeros(DType::kF32, {rows, 2})});
  EXPECT_EQ(model.impl().runner->num_compiled(), 2U);
}

TEST(Model, RejectsInputsThatDoNotFit) {
  Model model(affine_graph(3));
  EXPECT_THROW(model.predict({}), Error);
  EXPECT_THROW(model.predict({Tensor()}), Error);
  EXPECT_THROW(model.predict({Tensor::zeros(DType::kI64, {2, 3})}), Error);
  try {
    model.predict({Tensor::zeros(DType::kF32, {2, 4})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("\"x\""), HasSubstr("4")));
  }
  EXPECT_THROW(Model(std::make_unique<Graph>()), Error);
  EXPECT_THROW(model.weight("layer.wieght"), Error);
  EXPECT_THROW(model.set_weight("layer.weight", Tensor::zeros(DType::kF32, {4})), Error);
}

TEST(Model, ConcurrentPredictionsAgree) {
  Model model(affine_graph(16), {.threads = 1, .max_programs = 3});
  std::vector<Tensor> inputs, expected;
  for (int64_t rows = 1; rows <= 5; ++rows) {
    inputs.push_back(random_tensor(DType::kF32, {rows, 16}, static_cast<uint64_t>(rows)));
    expected.push_back(expected_affine(model, inputs.back()));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 60; ++i) {
        const size_t k = (i + t) % inputs.size();
        const Tensor y = model.predict({inputs[k]})[0];
        for (int64_t e = 0; e < y.num_elements(); ++e) {
          if (std::abs(y.data<float>()[e] - expected[k].data<float>()[e]) > 1e-5F) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Model, WeightsMayChangeWhileOthersPredict) {
  Model model(affine_graph(8), {.threads = 1});
  const Tensor x = Tensor::full<float>({4, 8}, 1.0F);
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  const auto set_all = [&](float value) { model.set_weight("layer.weight", Tensor::full<float>({8}, value)); };
  model.set_weight("layer.bias", Tensor::zeros(DType::kF32, {8}));
  set_all(0);
  std::thread reader([&] {
    while (!stop) {
      const std::vector<float> y = floats(model.predict({x})[0]);
      if (std::count(y.begin(), y.end(), y[0]) != static_cast<int64_t>(y.size())) ++torn;
    }
  });
  for (int i = 0; i < 100; ++i) set_all(static_cast<float>(i));
  stop = true;
  reader.join();
  EXPECT_EQ(torn, 0);
}

TEST(Model, FreezesByPattern) {
  Model model(affine_graph(3));
  EXPECT_EQ(model.freeze("*.weight"), 1);
  EXPECT_FALSE(model.graph().find("layer.weight")->trainable());
  EXPECT_TRUE(model.graph().find("layer.bias")->trainable());
  EXPECT_THAT(model.weight_table(), HasSubstr("6 (3 trained, 3 frozen)"));
  EXPECT_EQ(model.unfreeze("layer.*"), 2);
  EXPECT_TRUE(model.graph().find("layer.weight")->trainable());
  EXPECT_THROW(model.freeze("later.*"), Error);
}

TEST(Model, SummaryListsEveryWeight) {
  const Model model(affine_graph(1200, true));
  EXPECT_THAT(model.weight_table(), ::testing::AllOf(HasSubstr("layer.weight"), HasSubstr("1,200"), HasSubstr("state"),
                                                     HasSubstr("2,400 (2,400 trained, 0 frozen), states: 1,200")));
}

TEST(Model, ExplainNamesKernelsAndTimes) {
  Model model(affine_graph(3));
  EXPECT_THAT(model.explain({Tensor::zeros(DType::kF32, {2, 3})}),
              ::testing::AllOf(HasSubstr("mul"), HasSubstr(" ms")));
}

}  // namespace
}  // namespace thalweg::testing
