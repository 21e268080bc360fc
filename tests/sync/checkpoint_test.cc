// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Checkpoints that are due when the group changes. All workers write to one folder.
#include <gtest/gtest.h>

#include <set>

#include "support/temporary_directory.h"
#include "sync/group_scheme.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

/// Two steps each.
constexpr int kEpochs = 3;
constexpr int64_t kLastStep = 2 * kEpochs;

/// The steps of those that are complete.
std::set<int64_t> checkpoints_in(const TemporaryDirectory& folder) {
  std::set<int64_t> steps;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const SafetensorsFile readable((entry.path() / "optimizer.safetensors").string());
    steps.insert(std::stoll(entry.path().filename().string().substr(std::string("step-").size())));
  }
  return steps;
}

TrainOptions options_with_checkpoints(const TemporaryDirectory& folder) {
  TrainOptions options = group_train_options();
  options.epochs = kEpochs;
  options.checkpoints = {.directory = folder.path().string(), .keep = 10};
  return options;
}

enum class Place { kAfterExchange, kBeforeCheckpoint };

/// Where a worker loses the group, as if a connection had broken, once.
struct Mishap {
  Place place;
  int64_t step = 0;
  /// -1: all of them.
  int rank = -1;
};

/// Workers step together, each with weights of its own, and lose each other at given places.
class Unlucky : public sync::GroupScheme {
 public:
  Unlucky(std::shared_ptr<comm::Group> group, std::vector<Mishap> mishaps)
      : GroupScheme(std::move(group), {}), mishaps_(std::move(mishaps)) {}

  GradientPath gradient_path() const override { return GradientPath::kOwnUpdate; }
  Update exchange(StepTotals& totals) override {
    require(exchange_totals(totals));
    suffer(Place::kAfterExchange, trainee_->iteration() + 1);
    return {};
  }

 protected:
  comm::Status begin_checkpoint(Trainee& trainee) override {
    suffer(Place::kBeforeCheckpoint, trainee.iteration());
    // As sharded does: all take part, or nobody.
    return communicator().barrier();
  }
  void prepare(Trainee& trainee) override { trainee_ = &trainee; }

 private:
  void suffer(Place place, int64_t step) {
    for (Mishap& mishap : mishaps_) {
      const bool here = mishap.rank < 0 || mishap.rank == group().rank();
      if (mishap.place != place || mishap.step != step || !here) continue;
      mishap.step = -1;
      throw GroupChanged("injected");
    }
  }

  Trainee* trainee_ = nullptr;
  std::vector<Mishap> mishaps_;
};

/// Two workers, the first of which asks to stop after `stop_after` steps. Returns the steps that each has made.
std::vector<int64_t> train_unlucky(const TrainOptions& options, const std::vector<Mishap>& mishaps,
                                   int64_t stop_after = -1) {
  struct StopAfter : Callback {
    Trainer* trainer = nullptr;
    int64_t step = -1;
    void on_step(const TrainState& state) override {
      if (state.progress.iteration == step) trainer->request_stop();
    }
  };
  const data::TensorDataset data = two_layers_data(128);
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  std::vector<std::future<int64_t>> pending;
  for (int i = 0; i < 2; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      std::shared_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous.address()));
      Model model(two_layers());
      TrainOptions own = options;
      const auto callback = std::make_shared<StopAfter>();
      own.callbacks = {callback};
      own.scheme = std::make_shared<Unlucky>(group, mishaps);
      Trainer trainer(model, squared_error(), optim::adam(), own);
      callback->trainer = &trainer;
      if (group->rank() == 0) callback->step = stop_after;
      trainer.fit(data);
      return trainer.state().progress.iteration;
    }));
  }
  return {pending[0].get(), pending[1].get()};
}

class CheckpointOfAChange : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Rank, CheckpointOfAChange, ::testing::Values(-1, 0, 1), [](const auto& test) {
  return test.param < 0 ? std::string("all") : std::to_string(test.param);
});

TEST_P(CheckpointOfAChange, IsWrittenAfterItIfItFailsBecauseOfIt) {
  const TemporaryDirectory folder;
  train_unlucky(options_with_checkpoints(folder),
                {{Place::kBeforeCheckpoint, 4, GetParam()}, {Place::kBeforeCheckpoint, kLastStep, GetParam()}});
  EXPECT_EQ(checkpoints_in(folder), (std::set<int64_t>{2, 4, kLastStep}));
}

TEST_P(CheckpointOfAChange, IsWrittenIfSomeHaveNotMadeTheStepThemselves) {
  const TemporaryDirectory folder;
  train_unlucky(options_with_checkpoints(folder),
                {{Place::kAfterExchange, 4, GetParam()}, {Place::kAfterExchange, kLastStep, GetParam()}});
  EXPECT_EQ(checkpoints_in(folder), (std::set<int64_t>{2, 4, kLastStep}));
}

TEST_P(CheckpointOfAChange, IsWrittenAtAStop) {
  const TemporaryDirectory folder;
  const std::vector<int64_t> steps = train_unlucky(
      options_with_checkpoints(folder), {{Place::kAfterExchange, 3, GetParam()}, {Place::kBeforeCheckpoint, 3, -1}}, 2);
  EXPECT_TRUE(checkpoints_in(folder).contains(3));
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 3}));
}

/// A scheme, and the step at which the first worker is lost.
struct Loss {
  sync::SchemeOptions scheme;
  int64_t step = 0;
};

class CheckpointOfALostLeader : public ::testing::TestWithParam<Loss> {};
INSTANTIATE_TEST_SUITE_P(Schemes, CheckpointOfALostLeader,
                         ::testing::Values(Loss{{.name = "allreduce"}, 4}, Loss{{.name = "allreduce"}, kLastStep},
                                           Loss{{.name = "sharded"}, 4}, Loss{{.name = "sharded"}, kLastStep},
                                           Loss{{.name = "ssp"}, 4}, Loss{{.name = "ssp"}, kLastStep},
                                           Loss{{.name = "localsgd", .options = {{"period", 1}}}, kLastStep},
                                           Loss{{.name = "localsgd", .options = {{"period", 100}}}, kLastStep}),
                         [](const auto& test) {
                           std::string name = test.param.scheme.name;
                           for (const auto& [option, value] : test.param.scheme.options) {
                             name += "_" + option + std::to_string(static_cast<int>(value));
                           }
                           return name + "_" + std::to_string(test.param.step);
                         });

TEST_P(CheckpointOfALostLeader, IsWrittenByTheNext) {
  struct LeaveAt : Callback {
    int64_t step = -1;
    void on_step(const TrainState& state) override { TW_REQUIRE(state.progress.iteration != step, "left on purpose"); }
  };
  const TemporaryDirectory folder;
  const data::TensorDataset data = two_layers_data(128);
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 3));
  std::vector<std::future<void>> pending;
  for (int i = 0; i < 3; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      std::shared_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous.address()));
      Model model(two_layers());
      TrainOptions own = options_with_checkpoints(folder);
      const auto callback = std::make_shared<LeaveAt>();
      const bool leaves = group->rank() == 0;
      if (leaves) callback->step = GetParam().step;
      own.callbacks = {callback};
      own.scheme = sync::make_scheme(GetParam().scheme, std::move(group));
      Trainer trainer(model, squared_error(), optim::adam(), own);
      if (leaves) {
        EXPECT_THROW(trainer.fit(data), Error);
      } else {
        trainer.fit(data);
      }
    }));
  }
  for (auto& worker : pending) worker.get();
  EXPECT_TRUE(checkpoints_in(folder).contains(GetParam().step));
  EXPECT_TRUE(checkpoints_in(folder).contains(kLastStep));
}

}  // namespace
}  // namespace thalweg::testing
