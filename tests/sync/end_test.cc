// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What may go wrong when everything has been done.
#include <gtest/gtest.h>

#include <limits>

#include "sync/group_scheme.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

/// The connections of worker 1 break when worker 0 has passed the last barrier and this one is still in it.
class BreaksInTheLastBarrier : public sync::GroupScheme {
 public:
  explicit BreaksInTheLastBarrier(std::shared_ptr<comm::Group> group) : GroupScheme(std::move(group), {}) {}

  GradientPath gradient_path() const override { return GradientPath::kHandedOver; }
  Update exchange(StepTotals& totals) override {
    require(exchange_totals(totals));
    return {};
  }

 protected:
  void prepare(Trainee& /*trainee*/) override {}
  comm::Status last_exchange() override {
    if (group().rank() == 1) {
      EXPECT_TRUE(communicator().barrier().ok());
      communicator().abort("it broke");
    }
    return {};
  }
};

TEST(EndOfARun, IsTheEndAlsoForAWorkerThatTheOthersHaveLeftInTheLastBarrier) {
  for (const comm::Path path : {comm::Path::kTcp, comm::Path::kAuto}) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
    const data::TensorDataset data = two_layers_data(64);
    std::vector<std::future<int64_t>> pending;
    for (int i = 0; i < 2; ++i) {
      pending.push_back(std::async(std::launch::async, [&] {
        Model model(two_layers());
        TrainOptions options = group_train_options();
        options.scheme =
            std::make_shared<BreaksInTheLastBarrier>(comm::Group::join(member_of(rendezvous.address(), path)));
        Trainer trainer(model, squared_error(), optim::sgd(), options);
        trainer.fit(data);
        return trainer.state().progress.iteration;
      }));
    }
    EXPECT_EQ(pending[0].get(), pending[1].get());
    EXPECT_TRUE(rendezvous.state().finished);
  }
}

/// The more is learned from two_layers_data, the worse it is here.
data::TensorDataset opposite_data(int64_t rows) {
  Tensor x = random_tensor(DType::kF32, {rows, 12}, 22);
  Tensor y(DType::kF32, {rows, 3});
  for (int64_t i = 0; i < rows * 3; ++i) y.data<float>()[i] = x.data<float>()[i / 3 * 12 + i % 3] * -5.0F;
  return data::TensorDataset({x}, {y});
}

class EveryScheme : public ::testing::TestWithParam<sync::SchemeOptions> {};
INSTANTIATE_TEST_SUITE_P(EndOfARun, EveryScheme,
                         ::testing::Values(sync::SchemeOptions{.name = "allreduce"},
                                           sync::SchemeOptions{.name = "sharded"},
                                           sync::SchemeOptions{.name = "ssp", .options = {{"staleness", 0}}},
                                           sync::SchemeOptions{.name = "ssp", .options = {{"staleness", 2}}},
                                           sync::SchemeOptions{.name = "localsgd", .options = {{"period", 2}}}),
                         [](const auto& test) { return test.param.name + std::to_string(test.index); });

TEST_P(EveryScheme, LeavesTheWeightsThatValidatedBest) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  const data::TensorDataset data = two_layers_data(256);
  const data::TensorDataset opposite = opposite_data(64);
  std::vector<std::future<void>> pending;
  for (int i = 0; i < 2; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      Model model(two_layers());
      TrainOptions options = group_train_options();
      options.epochs = 12;
      options.early_stopping = {.patience = 4};
      options.scheme = sync::make_scheme(GetParam(), comm::Group::join(member_of(rendezvous.address())));
      Trainer trainer(model, squared_error(), optim::sgd(), options);
      double best = std::numeric_limits<double>::infinity();
      for (const EpochRecord& epoch : trainer.fit(data, opposite)) best = std::min(best, epoch.validation.at("loss"));
      EXPECT_LT(best, trainer.history().back().validation.at("loss")) << "the last one is the best: nothing is tested";
      EXPECT_NEAR(trainer.evaluate(opposite).at("loss"), best, 1e-6 * best);
    }));
  }
  for (auto& worker : pending) worker.get();
}

}  // namespace
}  // namespace thalweg::testing
