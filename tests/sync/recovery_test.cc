// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Workers are lost and come, as threads of this process; fault_test.cc does so to real processes.
#include <gtest/gtest.h>

#include "sync/callbacks.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

std::vector<NamedTensor> train_member(const std::string& address, TrainOptions options, const data::Dataset& data,
                                      std::shared_ptr<Callback> callback) {
  Model model(two_layers());
  const std::shared_ptr<comm::Group> group = comm::Group::join(member_of(address));
  show_group(callback, group);
  options.callbacks = {std::move(callback)};
  options.scheme = sync::make_scheme({}, group);
  Trainer trainer(model, squared_error(), smooth_adam(), options);
  trainer.fit(data);
  return weights_of(model);
}

class Recovery : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.epochs = 4;
    options_.learning_rate = 0.01;
    Model model(two_layers());
    TrainOptions alone = options_;
    alone.callbacks = {reference_};
    Trainer trainer(model, squared_error(), smooth_adam(), alone);
    trainer.fit(data_);
    expected_ = weights_of(model);
  }
  static double parameter_difference(std::vector<NamedTensor> a, std::vector<NamedTensor> b) {
    const auto is_state = [](const NamedTensor& entry) { return entry.name == "seen"; };
    std::erase_if(a, is_state);
    std::erase_if(b, is_state);
    return difference(a, b);
  }

  TrainOptions options_ = group_train_options();
  const data::TensorDataset data_ = two_layers_data(640);
  std::shared_ptr<Watch> reference_ = std::make_shared<Watch>();
  std::vector<NamedTensor> expected_;
};

TEST_F(Recovery, TheOthersEndWithTheWeightsOfAnUndisturbedRun) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
  const auto watch = std::make_shared<Watch>();
  auto first = std::async(std::launch::async, train_member, rendezvous.address(), options_, std::cref(data_), watch);
  auto second = std::async(std::launch::async, train_member, rendezvous.address(), options_, std::cref(data_),
                           std::make_shared<LeaveAt>(7));
  auto third = std::async(std::launch::async, train_member, rendezvous.address(), options_, std::cref(data_),
                          std::make_shared<LeaveAt>(20));
  EXPECT_THROW(second.get(), Error);
  EXPECT_THROW(third.get(), Error);
  EXPECT_LT(parameter_difference(first.get(), expected_), 1e-5);
  // Every step was taken once, on the samples that belong to it.
  ASSERT_EQ(watch->losses.size(), reference_->losses.size());
  for (size_t i = 0; i < watch->losses.size(); ++i) {
    EXPECT_NEAR(watch->losses[i], reference_->losses[i], 1e-5) << "step " << i + 1;
  }
}

TEST_F(Recovery, ANewcomerIsBroughtUpToDate) {
  const comm::Rendezvous rendezvous(open_rendezvous(1, 2));
  const auto watch = watch_until(2);
  auto first = std::async(std::launch::async, train_member, rendezvous.address(), options_, std::cref(data_), watch);
  ASSERT_TRUE(eventually([&] { return watch->steps >= 5; }));
  const auto late = std::make_shared<Watch>();
  auto second = std::async(std::launch::async, train_member, rendezvous.address(), options_, std::cref(data_), late);
  EXPECT_LT(parameter_difference(first.get(), expected_), 1e-5);
  EXPECT_LT(parameter_difference(second.get(), expected_), 1e-5);
  EXPECT_EQ(late->losses.size(), watch->losses.size());
  EXPECT_EQ(late->losses[2], 0) << "it was there from the beginning";
  EXPECT_NEAR(late->losses.back(), reference_->losses.back(), 1e-5);
}

TEST_F(Recovery, AStopAtOneWorkerStopsAllAtTheSameStep) {
  struct StopAt : Callback {
    Trainer* trainer = nullptr;
    void on_step(const TrainState& state) override {
      if (trainer != nullptr && state.progress.iteration == 6) trainer->request_stop();
    }
  };
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  std::vector<std::future<int64_t>> pending;
  for (const bool stops : {true, false}) {
    pending.push_back(std::async(std::launch::async, [&, stops] {
      Model model(two_layers());
      TrainOptions own = options_;
      const auto callback = std::make_shared<StopAt>();
      own.callbacks = {callback};
      own.scheme = sync::make_scheme({}, comm::Group::join(member_of(rendezvous.address())));
      Trainer trainer(model, squared_error(), smooth_adam(), own);
      if (stops) callback->trainer = &trainer;
      trainer.fit(data_);
      return trainer.state().progress.iteration;
    }));
  }
  EXPECT_EQ(pending[0].get(), 7);
  EXPECT_EQ(pending[1].get(), 7);
}

}  // namespace
}  // namespace thalweg::testing
