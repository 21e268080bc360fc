// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "sync/callbacks.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

double loss_of(const std::vector<NamedTensor>& weights, const data::Dataset& data) {
  Model model(two_layers());
  for (const NamedTensor& entry : weights) model.set_weight(entry.name, entry.tensor);
  Trainer trainer(model, squared_error(), optim::sgd(), group_train_options());
  return trainer.evaluate(data).at("loss");
}

std::vector<NamedTensor> parameters_of(std::vector<NamedTensor> weights) {
  std::erase_if(weights, [](const NamedTensor& entry) { return entry.name == "seen"; });
  return weights;
}

/// How far this worker is, for the others to see.
struct Pace : Callback {
  Pace(std::atomic<int64_t>& mine, const std::atomic<int64_t>& other) : own(mine), others(other) {}
  std::atomic<int64_t>& own;
  const std::atomic<int64_t>& others;
  int64_t furthest_ahead = 0;
  void on_step(const TrainState& state) override {
    own = state.progress.iteration;
    furthest_ahead = std::max(furthest_ahead, own - others);
  }
};

/// Makes no second step before the others are ahead by so many.
struct Wait : Pace {
  Wait(std::atomic<int64_t>& mine, const std::atomic<int64_t>& other, int64_t steps) : Pace(mine, other), lead(steps) {}
  int64_t lead;
  void on_step(const TrainState& state) override {
    Pace::on_step(state);
    EXPECT_TRUE(eventually([&] { return others - own >= lead || own > 1; })) << "nobody gets ahead by " << lead;
    // So that the others are in front of their bound all the time if there is one.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};

struct Pause : Callback {
  void on_step(const TrainState& /*state*/) override { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
};

/// How many steps a worker gets ahead of one that waits until it is ahead by `least`.
int64_t lead_over_a_slow_worker(int staleness, int64_t least) {
  const data::TensorDataset data = two_layers_data(640);
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  std::atomic<int64_t> fast{0}, slow{0};
  const auto leader = std::make_shared<Pace>(fast, slow);
  const auto train = [&](std::shared_ptr<Callback> pace) {
    Model model(two_layers());
    TrainOptions own = group_train_options();
    own.epochs = 2;
    own.callbacks = {std::move(pace)};
    own.scheme = sync::make_scheme({.name = "ssp", .options = {{"staleness", staleness}}},
                                   comm::Group::join(member_of(rendezvous.address())));
    Trainer trainer(model, squared_error(), optim::sgd(), own);
    trainer.fit(data);
  };
  auto other = std::async(std::launch::async, train, std::make_shared<Wait>(slow, fast, least));
  train(leader);
  other.get();
  return leader->furthest_ahead;
}

TEST(Ssp, NobodyIsFurtherAheadThanTheBound) {
  // A step counts as made a little after the others learn of it.
  EXPECT_LE(lead_over_a_slow_worker(0, 0), 1);
  EXPECT_LE(lead_over_a_slow_worker(3, 3), 4);
  EXPECT_GE(lead_over_a_slow_worker(sync::kUnbounded, 10), 10);
}

class SspBounds : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, SspBounds, ::testing::Values(0, 2, sync::kUnbounded), [](const auto& test) {
  return test.param < 0 ? std::string("unbounded") : std::to_string(test.param);
});

TEST_P(SspBounds, WorkersEndWithOneSetOfWeightsThatFitsTheData) {
  const data::TensorDataset data = two_layers_data(320);
  TrainOptions options = group_train_options();
  options.epochs = 12;
  options.learning_rate = 0.02;
  // Steps that take no time would all be made with the weights of the beginning.
  options.callbacks = {std::make_shared<Pause>()};
  const auto results = train_in_threads(3, {.name = "ssp", .options = {{"staleness", GetParam()}}}, options, data);
  for (const auto& weights : results) EXPECT_EQ(difference(parameters_of(weights), parameters_of(results[0])), 0);
  Model untrained(two_layers());
  EXPECT_LT(loss_of(results[0], data), 0.2 * loss_of(weights_of(untrained), data));
}

TEST_P(SspBounds, GoesOnWhenAWorkerIsLostAndAnotherComes) {
  const data::TensorDataset data = two_layers_data(640);
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
  const auto train = [&](const std::shared_ptr<Callback>& callback) {
    Model model(two_layers());
    TrainOptions own = group_train_options();
    own.epochs = 12;
    own.learning_rate = 0.02;
    own.callbacks = {callback};
    const std::shared_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous.address()));
    show_group(callback, group);
    own.scheme = sync::make_scheme({.name = "ssp", .options = {{"staleness", GetParam()}}}, group);
    Trainer trainer(model, squared_error(), optim::adam(), own);
    trainer.fit(data);
    return weights_of(model);
  };
  std::atomic<bool> third_has_left{false};
  const auto stays = [&] {
    auto watch = watch_until(3);
    // Steps that take no time would all be made with the weights of the beginning.
    watch->pause = std::chrono::milliseconds(5);
    watch->hold_at = 15;
    watch->may_go_on = [&] { return third_has_left.load(); };
    return watch;
  };
  auto first = std::async(std::launch::async, train, stays());
  auto second = std::async(std::launch::async, train, stays());
  auto third = std::async(std::launch::async, train, std::make_shared<LeaveAt>(8));
  EXPECT_THROW(third.get(), Error);
  third_has_left = true;
  auto newcomer = std::async(std::launch::async, train, stays());
  const std::vector<NamedTensor> expected = parameters_of(first.get());
  EXPECT_EQ(difference(parameters_of(second.get()), expected), 0);
  EXPECT_EQ(difference(parameters_of(newcomer.get()), expected), 0);
  Model untrained(two_layers());
  EXPECT_LT(loss_of(expected, data), 0.3 * loss_of(weights_of(untrained), data));
}

TEST(Ssp, ACheckpointHasTheStateOfAllParts) {
  const data::TensorDataset data = two_layers_data(128);
  TrainOptions options = group_train_options();
  const TemporaryDirectory folder;
  options.checkpoints = {.directory = folder.path().string()};
  train_in_threads(3, {.name = "ssp", .options = {{"staleness", sync::kUnbounded}}}, options, data);
  for (const auto& step : std::filesystem::directory_iterator(folder.path())) {
    const SafetensorsFile file((step.path() / "optimizer.safetensors").string());
    const std::vector<float> velocity = floats(file.load("momentum/first.weight"));
    EXPECT_LT(std::count(velocity.begin(), velocity.end(), 0.0F), 100) << step.path();
  }
}

TEST(Ssp, CheckpointsAreCompleteWhileTheLastBatchIsCompiledAnew) {
  // Of 150 samples the last batch of an epoch has 22: workers learn anew what is trained while others take snapshots.
  const data::TensorDataset data = two_layers_data(150);
  TrainOptions options = group_train_options();
  const TemporaryDirectory folder;
  options.checkpoints = {.directory = folder.path().string(), .when = optim::several_iterations(1), .keep = 100};
  for (const int staleness : {0, sync::kUnbounded}) {
    train_in_threads(3, {.name = "ssp", .options = {{"staleness", staleness}}}, options, data);
    int checkpoints = 0;
    for (const auto& step : std::filesystem::directory_iterator(folder.path())) {
      const SafetensorsFile file((step.path() / "optimizer.safetensors").string());
      EXPECT_EQ(floats(file.load("momentum/first.weight")).size(), 480U) << step.path();
      ++checkpoints;
    }
    EXPECT_EQ(checkpoints, 9);
  }
}

TEST(Ssp, GoesOnWithoutAWorkerThatHangsAtTheEnd) {
  std::atomic<bool> hangs{false};
  struct Messages : Watch {
    std::string text;
    void on_message(const std::string& message) override { text += message + "\n"; }
  };
  struct Hang : Callback {
    Hang(std::shared_future<void> end, std::atomic<bool>& now) : until(std::move(end)), hangs(now) {}
    std::shared_future<void> until;
    std::atomic<bool>& hangs;
    void on_step(const TrainState& state) override {
      if (state.progress.iteration != 2) return;
      hangs = true;
      until.wait();
    }
  };
  const data::TensorDataset data = two_layers_data(128);
  comm::RendezvousOptions meeting = quiet_rendezvous(1, 2);
  meeting.regroup_timeout = std::chrono::seconds(2);
  const comm::Rendezvous rendezvous(meeting);
  const auto train = [&](const std::string& name, std::shared_ptr<Callback> callback) {
    comm::GroupOptions member = member_of(rendezvous.address());
    member.name = name;
    Model model(two_layers());
    TrainOptions own = group_train_options();
    own.callbacks = {std::move(callback)};
    own.scheme = sync::make_scheme({.name = "ssp", .options = {{"staleness", sync::kUnbounded}, {"patience", 1}}},
                                   comm::Group::join(member));
    Trainer(model, squared_error(), optim::sgd(), own).fit(data);
  };
  std::promise<void> end;
  auto hanging =
      std::async(std::launch::async, train, "the sleeper", std::make_shared<Hang>(end.get_future().share(), hangs));
  const auto messages = std::make_shared<Messages>();
  // Not before the other really hangs, as opposed to being slow.
  messages->hold_at = 1;
  messages->may_go_on = [&] { return hangs.load(); };
  auto other = std::async(std::launch::async, train, "the other", messages);
  other.wait();
  end.set_value();
  EXPECT_NO_THROW(other.get());
  EXPECT_THAT(messages->text, HasSubstr("the sleeper is alive but takes no more steps"));
  EXPECT_THROW(hanging.get(), Error);
}

TEST(Ssp, WithoutStalenessItIsSynchronousToTheBit) {
  const data::TensorDataset data = two_layers_data(320);
  for (const int workers : {2, 3, 4}) {
    const auto served = train_in_threads(workers, {.name = "ssp"}, group_train_options(), data);
    const auto synchronous = train_in_threads(workers, {.name = "sharded"}, group_train_options(), data);
    EXPECT_EQ(difference(parameters_of(served[0]), parameters_of(synchronous[0])), 0) << workers;
  }
}

TEST(Ssp, WithoutStalenessTheNormIsThatOfAllGradients) {
  const data::TensorDataset data = two_layers_data(320);
  TrainOptions options = group_train_options();
  options.clip_norm = 0.05;
  const auto served = train_in_threads(3, {.name = "ssp"}, options, data);
  const auto synchronous = train_in_threads(3, {.name = "sharded"}, options, data);
  EXPECT_LT(difference(parameters_of(served[0]), parameters_of(synchronous[0])), 1e-6);
  options.clip_norm = 0;
  const auto free = train_in_threads(3, {.name = "ssp"}, options, data);
  EXPECT_GT(difference(parameters_of(served[0]), parameters_of(free[0])), 1e-3) << "nothing was limited";
}

/// Tables with sparse gradients are whole at every worker, and end alike.
TEST_P(SspBounds, TablesEndAlikeAtAllWorkers) {
  Tensor words(DType::kI64, {192, 3}), targets(DType::kF32, {192, 2});
  for (int64_t i = 0; i < words.num_elements(); ++i) words.data<int64_t>()[i] = (i * i + i / 3) % 29;
  for (int64_t i = 0; i < targets.num_elements(); ++i) targets.data<float>()[i] = static_cast<float>(i % 5) * 0.2F;
  const data::TensorDataset data({words}, {targets});
  const comm::Rendezvous rendezvous(quiet_rendezvous(3, 3));
  const auto train = [&] {
    Model model(table_and_layer());
    TrainOptions own = group_train_options();
    own.epochs = 10;
    own.callbacks = {std::make_shared<Pause>()};
    own.scheme = sync::make_scheme({.name = "ssp", .options = {{"staleness", GetParam()}}},
                                   comm::Group::join(member_of(rendezvous.address())));
    Trainer trainer(model, squared_error(), optim::adagrad(), own);
    const double before = trainer.evaluate(data).at("loss");
    trainer.fit(data);
    EXPECT_LT(trainer.evaluate(data).at("loss"), 0.8 * before);
    return weights_of(model);
  };
  std::vector<std::future<std::vector<NamedTensor>>> pending;
  for (int i = 0; i < 3; ++i) pending.push_back(std::async(std::launch::async, train));
  const std::vector<NamedTensor> first = pending[0].get();
  for (size_t i = 1; i < 3; ++i) EXPECT_EQ(difference(pending[i].get(), first), 0);
}

TEST(Ssp, BoundsBelowZeroAreRefused) {
  EXPECT_THAT(error_text([] {
                sync::make_scheme({.name = "ssp", .options = {{"staleness", -2}}}, nullptr);
              }),
              HasSubstr("is -2, must be a whole number, at least -1"));
}

}  // namespace
}  // namespace thalweg::testing
