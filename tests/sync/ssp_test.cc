// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/error_text.h"
#include "support/temporary_directory.h"
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

/// How far this worker is, for the others to see, and a pause after every step.
struct Pace : Callback {
  Pace(std::atomic<int64_t>& mine, const std::atomic<int64_t>& other, std::chrono::milliseconds rest)
      : own(mine), others(other), pause(rest) {}
  std::atomic<int64_t>& own;
  const std::atomic<int64_t>& others;
  std::chrono::milliseconds pause;
  int64_t furthest_ahead = 0;
  void on_step(const TrainState& state) override {
    own = state.progress.iteration;
    furthest_ahead = std::max(furthest_ahead, own - others);
    std::this_thread::sleep_for(pause);
  }
};

struct Pause : Callback {
  void on_step(const TrainState& /*state*/) override { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
};

/// How many steps a worker gets ahead of one that is slow.
int64_t lead_over_a_slow_worker(int staleness) {
  const data::TensorDataset data = two_layers_data(640);
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  std::atomic<int64_t> fast{0}, slow{0};
  const auto leader = std::make_shared<Pace>(fast, slow, std::chrono::milliseconds(0));
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
  auto other = std::async(std::launch::async, train, std::make_shared<Pace>(slow, fast, std::chrono::milliseconds(15)));
  train(leader);
  other.get();
  return leader->furthest_ahead;
}

TEST(Ssp, NobodyIsFurtherAheadThanTheBound) {
  // A step counts as made a little after the others learn of it.
  EXPECT_LE(lead_over_a_slow_worker(0), 1);
  const int64_t bounded = lead_over_a_slow_worker(3);
  EXPECT_GE(bounded, 3);
  EXPECT_LE(bounded, 4);
  EXPECT_GE(lead_over_a_slow_worker(sync::kUnbounded), 10);
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
  struct LeaveAt : Callback {
    explicit LeaveAt(int64_t at) : step(at) {}
    int64_t step;
    void on_step(const TrainState& state) override {
      TW_REQUIRE(state.progress.iteration != step, "left on purpose");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  const data::TensorDataset data = two_layers_data(640);
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
  const auto train = [&](int64_t leaves_at) {
    Model model(two_layers());
    TrainOptions own = group_train_options();
    own.epochs = 12;
    own.learning_rate = 0.02;
    own.callbacks = {std::make_shared<LeaveAt>(leaves_at)};
    own.scheme = sync::make_scheme({.name = "ssp", .options = {{"staleness", GetParam()}}},
                                   comm::Group::join(member_of(rendezvous.address())));
    Trainer trainer(model, squared_error(), optim::adam(), own);
    trainer.fit(data);
    return weights_of(model);
  };
  auto first = std::async(std::launch::async, train, -1);
  auto second = std::async(std::launch::async, train, -1);
  auto third = std::async(std::launch::async, train, 8);
  EXPECT_THROW(third.get(), Error);
  auto newcomer = std::async(std::launch::async, train, -1);
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
  struct Messages : Callback {
    std::string text;
    void on_message(const std::string& message) override { text += message + "\n"; }
  };
  struct Hang : Callback {
    explicit Hang(std::shared_future<void> end) : until(std::move(end)) {}
    std::shared_future<void> until;
    void on_step(const TrainState& state) override {
      if (state.progress.iteration == 2) until.wait();
    }
  };
  const data::TensorDataset data = two_layers_data(128);
  comm::RendezvousOptions meeting = quiet_rendezvous(1, 2);
  meeting.regroup_timeout = std::chrono::seconds(1);
  const comm::Rendezvous rendezvous(meeting);
  const auto train = [&](const std::string& name, std::shared_ptr<Callback> callback) {
    comm::GroupOptions member = member_of(rendezvous.address());
    member.name = name;
    // When it wakes up, the one that hung finds nobody to go on with.
    if (name == "the sleeper") member.form_timeout = std::chrono::seconds(5);
    Model model(two_layers());
    TrainOptions own = group_train_options();
    own.callbacks = {std::move(callback)};
    own.scheme = sync::make_scheme({.name = "ssp", .options = {{"staleness", sync::kUnbounded}, {"patience", 1}}},
                                   comm::Group::join(member));
    Trainer(model, squared_error(), optim::sgd(), own).fit(data);
  };
  std::promise<void> end;
  auto hanging = std::async(std::launch::async, train, "the sleeper", std::make_shared<Hang>(end.get_future().share()));
  const auto messages = std::make_shared<Messages>();
  auto other = std::async(std::launch::async, train, "the other", messages);
  other.wait();
  end.set_value();
  EXPECT_NO_THROW(other.get());
  EXPECT_THAT(messages->text, HasSubstr("the sleeper is alive but takes no more steps"));
  EXPECT_THROW(hanging.get(), Error);
}

TEST(Ssp, BoundsBelowZeroAreRefused) {
  EXPECT_THAT(error_text([] {
                sync::make_scheme({.name = "ssp", .options = {{"staleness", -2}}}, nullptr);
              }),
              HasSubstr("is -2, must be a whole number, at least -1"));
}

}  // namespace
}  // namespace thalweg::testing
