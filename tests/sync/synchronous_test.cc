// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temporary_directory.h"
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

struct Way {
  std::string scheme;
  comm::Path path = comm::Path::kAuto;
};

/// Schemes whose result does not depend on the number of workers.
class SynchronousTraining : public ::testing::TestWithParam<Way> {
 protected:
  sync::SchemeOptions scheme() const {
    sync::SchemeOptions options{.name = GetParam().scheme};
    // Several buckets, where there are any.
    if (options.name != "ssp") options.options["bucket_bytes"] = 512;
    return options;
  }
  auto train(int workers, const TrainOptions& options, const data::Dataset& data) const {
    return train_in_threads(workers, scheme(), options, data, GetParam().path);
  }
};

INSTANTIATE_TEST_SUITE_P(All, SynchronousTraining,
                         ::testing::Values(Way{"allreduce"}, Way{"allreduce", comm::Path::kTcp}, Way{"sharded"},
                                           Way{"sharded", comm::Path::kTcp}, Way{"ssp"}, Way{"ssp", comm::Path::kTcp}),
                         [](const auto& test) {
                           return test.param.scheme + (test.param.path == comm::Path::kTcp ? "_tcp" : "_memory");
                         });

TEST_P(SynchronousTraining, GivesTheWeightsOfOneWorkerWhateverTheirNumber) {
  // The last batch has 22 samples: shares differ in size.
  const data::TensorDataset data = two_layers_data(150);
  TrainOptions options = group_train_options();
  const std::vector<NamedTensor> alone = parameters_of(train_alone(options, data));
  for (const int workers : {1, 2, 4}) {
    const auto results = train(workers, options, data);
    for (const auto& weights : results) {
      EXPECT_LT(difference(parameters_of(weights), alone), 1e-5) << workers << " workers";
      EXPECT_EQ(difference(parameters_of(weights), parameters_of(results[0])), 0) << "workers differ";
    }
  }
}

TEST_P(SynchronousTraining, ABatchSmallerThanTheGroupLeavesSomeWithoutSamples) {
  const data::TensorDataset data = two_layers_data(66);
  const TrainOptions options = group_train_options();
  const std::vector<NamedTensor> alone = parameters_of(train_alone(options, data));
  for (const auto& weights : train(3, options, data)) {
    EXPECT_LT(difference(parameters_of(weights), alone), 1e-5);
  }
}

TEST_P(SynchronousTraining, ClippingSeesTheGradientsOfAll) {
  const data::TensorDataset data = two_layers_data(128);
  TrainOptions options = group_train_options();
  options.clip_norm = 0.05;
  const std::vector<NamedTensor> alone = parameters_of(train_alone(options, data));
  for (const auto& weights : train(2, options, data)) {
    EXPECT_LT(difference(parameters_of(weights), alone), 1e-5);
  }
}

TEST_P(SynchronousTraining, RowsOfTablesTravelByThemselves) {
  // Several samples, also of different workers, hit the same rows.
  Tensor words = Tensor(DType::kI64, {96, 3});
  for (int64_t i = 0; i < words.num_elements(); ++i) words.data<int64_t>()[i] = i * i % 29;
  const data::TensorDataset data({words}, {random_tensor(DType::kF32, {96, 2}, 8)});
  TrainOptions options = group_train_options();
  options.batch_size = 16;
  options.clip_norm = 0.1;
  const auto train_model = [&](std::shared_ptr<Scheme> scheme) {
    Model model(table_and_layer());
    TrainOptions own = options;
    own.scheme = std::move(scheme);
    Trainer trainer(model, squared_error(), optim::adam(), own);
    trainer.fit(data);
    return weights_of(model);
  };
  const std::vector<NamedTensor> alone = train_model(nullptr);
  const comm::Rendezvous rendezvous(quiet_rendezvous(3, 3));
  std::vector<std::future<std::vector<NamedTensor>>> pending;
  for (int i = 0; i < 3; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      return train_model(
          sync::make_scheme(scheme(), comm::Group::join(member_of(rendezvous.address(), GetParam().path))));
    }));
  }
  for (auto& result : pending) EXPECT_LT(difference(result.get(), alone), 1e-5);
}

TEST_P(SynchronousTraining, ALossThatIsNotFiniteEndsTheRunEverywhere) {
  Tensor x = random_tensor(DType::kF32, {64, 12}, 21), y = random_tensor(DType::kF32, {64, 3}, 22);
  y.data<float>()[0] = std::numeric_limits<float>::infinity();
  const data::TensorDataset bad({x}, {y});
  EXPECT_THAT(error_text([&] { train(2, group_train_options(), bad); }), HasSubstr("the loss is"));
}

TEST_P(SynchronousTraining, ACheckpointIsWhatOneWorkerWouldHaveWritten) {
  const data::TensorDataset data = two_layers_data(128);
  TrainOptions options = group_train_options();
  const TemporaryDirectory alone, together;
  options.checkpoints = {.directory = alone.path().string()};
  train_alone(options, data);
  options.checkpoints.directory = together.path().string();
  train(3, options, data);
  for (const auto& folder : std::filesystem::directory_iterator(alone.path())) {
    const std::filesystem::path step = folder.path().filename();
    const SafetensorsFile expected((folder.path() / "optimizer.safetensors").string());
    const SafetensorsFile got((together.path() / step / "optimizer.safetensors").string());
    ASSERT_EQ(got.names(), expected.names()) << step;
    for (const std::string& name : expected.names()) {
      const Tensor tensor = expected.load(name);
      if (tensor.dtype() == DType::kI64) {
        EXPECT_EQ(got.load(name).item(), tensor.item()) << step << " " << name;
        continue;
      }
      EXPECT_LT(difference({{name, got.load(name)}}, {{name, tensor}}), 1e-5) << step << " " << name;
    }
  }
}

TEST(Sharded, OptimisersThatCompareWholeParametersAreRefused) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 1));
  Model model(two_layers());
  TrainOptions options = group_train_options();
  options.scheme = sync::make_scheme({.name = "sharded"}, comm::Group::join(member_of(rendezvous.address())));
  Trainer trainer(model, squared_error(), optim::lamb(), options);
  EXPECT_THAT(error_text([&] { trainer.fit(two_layers_data(64)); }), HasSubstr("use the scheme allreduce"));
}

TEST(Schemes, UnknownNamesAreListed) {
  EXPECT_THAT(error_text([] { sync::make_scheme({.name = "magic"}, nullptr); }), HasSubstr("there are: allreduce"));
  for (const sync::Preset& preset : sync::presets()) EXPECT_FALSE(preset.description.empty());
}

}  // namespace
}  // namespace thalweg::testing
