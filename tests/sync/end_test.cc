// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What may go wrong when everything has been done.
#include <gtest/gtest.h>

#include "sync/group_scheme.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

/// The connections of worker 1 break when worker 0 has passed the last barrier and this one is still in it.
class BreaksInTheLastBarrier : public sync::GroupScheme {
 public:
  explicit BreaksInTheLastBarrier(std::shared_ptr<comm::Group> group) : GroupScheme(std::move(group), {}) {}

  bool exchanges_gradients() const override { return true; }
  std::vector<GradientView> finish_gradients(StepTotals& totals) override {
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

}  // namespace
}  // namespace thalweg::testing
