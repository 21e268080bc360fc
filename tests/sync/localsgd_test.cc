// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sync/workers.h"

namespace thalweg::testing {
namespace {

double loss_of(const std::vector<NamedTensor>& weights, const data::Dataset& data) {
  Model model(two_layers());
  for (const NamedTensor& entry : weights) model.set_weight(entry.name, entry.tensor);
  TrainOptions options = group_train_options();
  Trainer trainer(model, squared_error(), optim::sgd(), options);
  return trainer.evaluate(data).at("loss");
}

TEST(LocalSgd, WorkersEndWithOneSetOfWeightsThatFitsTheData) {
  const data::TensorDataset data = two_layers_data(320);
  TrainOptions options = group_train_options();
  options.epochs = 12;
  // 60 steps, the last average being that of the end.
  const auto results = train_in_threads(3, {.name = "localsgd", .period = 7}, options, data);
  std::vector<NamedTensor> first = results[0];
  std::erase_if(first, [](const NamedTensor& entry) { return entry.name == "seen"; });
  for (auto weights : results) {
    std::erase_if(weights, [](const NamedTensor& entry) { return entry.name == "seen"; });
    EXPECT_EQ(difference(weights, first), 0);
  }
  Model untrained(two_layers());
  EXPECT_LT(loss_of(results[0], data), 0.2 * loss_of(weights_of(untrained), data));
}

TEST(LocalSgd, AveragingAfterEveryStepOfPlainSgdIsTheSameAsAddingUpGradients) {
  // Without momentum, and with shares of one size, the mean of the updated weights is the update with the mean
  // gradient.
  const data::TensorDataset data = two_layers_data(128);
  const auto train = [&](const sync::SchemeOptions& scheme) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
    std::vector<std::future<std::vector<NamedTensor>>> pending;
    for (int i = 0; i < 2; ++i) {
      pending.push_back(std::async(std::launch::async, [&] {
        Model model(two_layers());
        TrainOptions own = group_train_options();
        own.scheme = sync::make_scheme(scheme, comm::Group::join(member_of(rendezvous.address())));
        Trainer trainer(model, squared_error(), optim::sgd(), own);
        trainer.fit(data);
        std::vector<NamedTensor> weights = weights_of(model);
        std::erase_if(weights, [](const NamedTensor& entry) { return entry.name == "seen"; });
        return weights;
      }));
    }
    pending[1].wait();
    return pending[0].get();
  };
  EXPECT_LT(difference(train({.name = "localsgd", .period = 1}), train({.name = "allreduce"})), 1e-6);
}

}  // namespace
}  // namespace thalweg::testing
