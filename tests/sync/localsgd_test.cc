// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "sync/callbacks.h"
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
  const auto results = train_in_threads(3, {.name = "localsgd", .options = {{"period", 7}}}, options, data);
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
        return parameters_of(model);
      }));
    }
    pending[1].wait();
    return pending[0].get();
  };
  EXPECT_LT(difference(train({.name = "localsgd", .options = {{"period", 1}}}), train({.name = "allreduce"})), 1e-6);
}

/// Workers that come and go; they average every 5 steps, of which there are 60.
class LocalSgdGroup : public ::testing::Test {
 protected:
  LocalSgdGroup() { options_.epochs = 12; }
  std::vector<NamedTensor> train(const comm::Rendezvous& rendezvous, const std::shared_ptr<Callback>& callback) const {
    Model model(two_layers());
    TrainOptions own = options_;
    const std::shared_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous.address()));
    show_group(callback, group);
    own.callbacks = {callback};
    own.scheme = sync::make_scheme({.name = "localsgd", .options = {{"period", 5}}}, group);
    Trainer trainer(model, squared_error(), optim::sgd({.momentum = 0.9}), own);
    trainer.fit(data_);
    return parameters_of(model);
  }
  void expect_one_good_result(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) const {
    EXPECT_EQ(difference(a, b), 0);
    Model untrained(two_layers());
    EXPECT_LT(loss_of(a, data_), 0.2 * loss_of(parameters_of(untrained), data_));
  }

  TrainOptions options_ = group_train_options();
  const data::TensorDataset data_ = two_layers_data(320);
};

TEST_F(LocalSgdGroup, TheOthersGoOnWithoutOneThatIsLost) {
  // At the average of step 15, and between two.
  for (const int64_t lost_at : {14, 17}) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
    const auto watch = std::make_shared<Watch>();
    const auto member = [&](const std::shared_ptr<Callback>& callback) {
      return std::async(std::launch::async, [&, callback] { return train(rendezvous, callback); });
    };
    auto first = member(watch), second = member(std::make_shared<Watch>());
    auto third = member(std::make_shared<LeaveAt>(lost_at));
    EXPECT_THROW(third.get(), Error);
    expect_one_good_result(first.get(), second.get());
    EXPECT_EQ(watch->steps, 60);
    EXPECT_EQ(rendezvous.state().epoch, 2U);
  }
}

TEST_F(LocalSgdGroup, ANewcomerIsAdmittedAtAnAverage) {
  const comm::Rendezvous rendezvous(open_rendezvous(1, 2));
  const auto watch = watch_until(2), late = std::make_shared<Watch>();
  auto first = std::async(std::launch::async, [&] { return train(rendezvous, watch); });
  ASSERT_TRUE(eventually([&] { return watch->steps >= 3; }));
  auto second = std::async(std::launch::async, [&] { return train(rendezvous, late); });
  expect_one_good_result(first.get(), second.get());
  ASSERT_EQ(late->losses.size(), 60U);
  // It has no losses of the steps that were made without it.
  const auto begin = std::find_if(late->losses.begin(), late->losses.end(), [](double loss) { return loss != 0; });
  EXPECT_GT(begin - late->losses.begin(), 0);
  EXPECT_EQ((begin - late->losses.begin()) % 5, 0);
}

}  // namespace
}  // namespace thalweg::testing
