// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

/// What one worker without a group comes to.
std::vector<NamedTensor> train_alone(const TrainOptions& options, const data::Dataset& data) {
  Model model(two_layers());
  Trainer trainer(model, squared_error(), optim::sgd({.momentum = 0.9}), options);
  trainer.fit(data);
  return weights_of(model);
}

/// Without the states, which follow each worker's own samples.
std::vector<NamedTensor> parameters_of(std::vector<NamedTensor> weights) {
  std::erase_if(weights, [](const NamedTensor& entry) { return entry.name == "seen"; });
  return weights;
}

class AllReduceTraining : public ::testing::TestWithParam<comm::Path> {};

INSTANTIATE_TEST_SUITE_P(Paths, AllReduceTraining, ::testing::Values(comm::Path::kAuto, comm::Path::kTcp),
                         [](const auto& test) { return test.param == comm::Path::kTcp ? "tcp" : "memory"; });

TEST_P(AllReduceTraining, GivesTheWeightsOfOneWorkerWhateverTheirNumber) {
  // The last batch has 22 samples: shares differ in size.
  const data::TensorDataset data = two_layers_data(150);
  TrainOptions options = group_train_options();
  const std::vector<NamedTensor> alone = parameters_of(train_alone(options, data));
  for (const int workers : {1, 2, 4}) {
    const auto results = train_in_threads(workers, {.bucket_bytes = 512}, options, data, GetParam());
    for (const auto& weights : results) {
      EXPECT_LT(difference(parameters_of(weights), alone), 1e-5) << workers << " workers";
      EXPECT_EQ(difference(parameters_of(weights), parameters_of(results[0])), 0) << "workers differ";
    }
  }
}

TEST(AllReduceTrainingOptions, ABatchSmallerThanTheGroupLeavesSomeWithoutSamples) {
  const data::TensorDataset data = two_layers_data(66);
  const TrainOptions options = group_train_options();
  const std::vector<NamedTensor> alone = parameters_of(train_alone(options, data));
  for (const auto& weights : train_in_threads(3, {}, options, data)) {
    EXPECT_LT(difference(parameters_of(weights), alone), 1e-5);
  }
}

TEST(AllReduceTrainingOptions, ClippingSeesTheGradientsOfAll) {
  const data::TensorDataset data = two_layers_data(128);
  TrainOptions options = group_train_options();
  options.clip_norm = 0.05;
  const std::vector<NamedTensor> alone = parameters_of(train_alone(options, data));
  for (const auto& weights : train_in_threads(2, {}, options, data)) {
    EXPECT_LT(difference(parameters_of(weights), alone), 1e-5);
  }
}

TEST(AllReduceTrainingOptions, ALossThatIsNotFiniteEndsTheRunEverywhere) {
  Tensor x = random_tensor(DType::kF32, {64, 12}, 21), y = random_tensor(DType::kF32, {64, 3}, 22);
  y.data<float>()[0] = std::numeric_limits<float>::infinity();
  const data::TensorDataset bad({x}, {y});
  EXPECT_THAT(error_text([&] { train_in_threads(2, {}, group_train_options(), bad); }), HasSubstr("the loss is"));
}

TEST(Schemes, UnknownNamesAreListed) {
  EXPECT_THAT(error_text([] { sync::make_scheme({.name = "magic"}, nullptr); }), HasSubstr("there are: allreduce"));
  for (const sync::Preset& preset : sync::presets()) EXPECT_FALSE(preset.description.empty());
}

}  // namespace
}  // namespace thalweg::testing
