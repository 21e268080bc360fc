// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <semaphore>
#include <thread>

#include "support/error_text.h"
#include "support/patience.h"
#include "support/temporary_directory.h"
#include "thalweg/losses.h"
#include "thalweg/train.h"
#include "train/small_models.h"

namespace thalweg::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes down what happened, and may act on it.
struct Recorder : Callback {
  std::vector<std::string> events;
  std::vector<double> rates;
  std::function<void(const TrainState&)> at_step;

  void on_start(const TrainState&) override { events.push_back("start"); }
  void on_step(const TrainState& state) override {
    events.push_back("step " + std::to_string(state.progress.iteration));
    rates.push_back(state.learning_rate);
    if (at_step) at_step(state);
  }
  void on_validation(const TrainState& state) override {
    events.push_back("validation " + std::to_string(state.progress.iteration));
  }
  void on_epoch(const TrainState& state) override { events.push_back("epoch " + std::to_string(state.progress.epoch)); }
  void on_end(const TrainState&) override { events.push_back("end"); }
  void on_message(const std::string& text) override { events.push_back(text); }
};

TrainOptions quiet(TrainOptions options = {}) {
  options.progress = ShowProgress::kNone;
  return options;
}

TEST(Trainer, LearnsAndRecords) {
  Model model(affine_graph(3));
  const auto train = affine_data(100, 3), test = affine_data(20, 3, 4);
  Trainer trainer(model, squared_error(), optim::adam(),
                  quiet({.epochs = 40, .batch_size = 16, .learning_rate = 0.05}));
  const auto& history = trainer.fit(train, test);
  ASSERT_EQ(history.size(), 40U);
  EXPECT_LT(history.back().loss, history.front().loss / 100);
  EXPECT_LT(history.back().validation.at("loss"), 1e-2);
  EXPECT_EQ(history.back().iteration, 40 * 7);
  EXPECT_GT(history.back().samples_per_second, 0);
  EXPECT_NEAR(trainer.evaluate(test).at("loss"), history.back().validation.at("loss"), 1e-9);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(floats(model.weight("layer.weight"))[static_cast<size_t>(i)], i + 1, 0.2);
}

TEST(Trainer, CallsBackInOrder) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  Trainer trainer(model, squared_error(), optim::sgd(), quiet({.epochs = 2, .batch_size = 5, .callbacks = {recorder}}));
  trainer.fit(train, train);
  EXPECT_THAT(recorder->events, ElementsAre("start", "step 1", "step 2", "validation 2", "epoch 1", "step 3", "step 4",
                                            "validation 4", "epoch 2", "end"));
}

TEST(Trainer, TriggersDecideWhenToValidateAndEnd) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  TrainOptions options = quiet({.end = optim::max_iteration(5), .batch_size = 5, .callbacks = {recorder}});
  options.validate = optim::several_iterations(3);
  Trainer trainer(model, squared_error(), optim::sgd(), options);
  trainer.fit(train, train);
  EXPECT_THAT(recorder->events, ElementsAre("start", "step 1", "step 2", "epoch 1", "step 3", "validation 3", "step 4",
                                            "epoch 2", "step 5", "end"));
  EXPECT_EQ(trainer.state().progress.iteration, 5);
}

TEST(Trainer, SameSeedSameBits) {
  const auto train = conv_data(20);
  const auto run = [&](uint64_t seed) {
    Model model(conv_graph());
    Trainer trainer(model, squared_error(), optim::adam(),
                    quiet({.epochs = 2, .batch_size = 6, .seed = seed, .threads = 2}));
    trainer.fit(train);
    return floats(model.weight("conv.weight"));
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Trainer, FollowsTheSchedule) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  Trainer trainer(model, squared_error(), optim::sgd(),
                  quiet({.epochs = 2, .batch_size = 5, .schedule = optim::step(0.8, 2, 0.5), .callbacks = {recorder}}));
  trainer.fit(train);
  EXPECT_THAT(recorder->rates, ElementsAre(0.8, 0.8, 0.4, 0.4));
}

TEST(Trainer, PlateauSeesValidations) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  // With so low a rate the loss stays as it is: every validation after the first is one without progress.
  Trainer trainer(model, squared_error(), optim::sgd(),
                  quiet({.epochs = 4,
                         .batch_size = 10,
                         .schedule = optim::plateau(1e-6, {.factor = 0.5, .patience = 0}),
                         .callbacks = {recorder}}));
  trainer.fit(train, train);
  EXPECT_EQ(recorder->rates.front(), 1e-6);
  EXPECT_LT(recorder->rates.back(), 0.6e-6);
}

TEST(Trainer, AccumulationEndsWithTheEpoch) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  Trainer trainer(model, squared_error(), optim::sgd(),
                  quiet({.epochs = 1, .batch_size = 2, .accumulate = 3, .callbacks = {recorder}}));
  trainer.fit(train);
  EXPECT_THAT(recorder->events, ElementsAre("start", "step 1", "step 2", "epoch 1", "end"));
  EXPECT_EQ(trainer.state().progress.iterations_per_epoch, 2);
}

TEST(Trainer, StopsEarlyWithTheBestWeights) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  std::vector<std::vector<float>> weights;
  // A rate far too high: the first epoch is the best one.
  recorder->at_step = [&](const TrainState&) { weights.push_back(floats(model.weight("layer.weight"))); };
  Trainer trainer(model, squared_error(), optim::sgd(),
                  quiet({.epochs = 50,
                         .batch_size = 10,
                         .learning_rate = 20,
                         .early_stopping = {.patience = 3},
                         .callbacks = {recorder}}));
  trainer.fit(train, train);
  ASSERT_EQ(weights.size(), 4U);
  EXPECT_EQ(floats(model.weight("layer.weight")), weights[0]);
  EXPECT_THAT(recorder->events, ::testing::Contains(HasSubstr("stopped early")));
  Trainer without(model, squared_error(), optim::sgd(), quiet({.early_stopping = {.patience = 3}}));
  EXPECT_THROW(without.fit(train), Error);
}

/// Samples of which nothing is known before they are read.
struct HiddenData : data::TensorDataset {
  using TensorDataset::TensorDataset;
  bool is_in_memory() const override { return false; }
};

TEST(Trainer, NanInTheDataIsFoundBeforeTheFirstStepIfTheyLieInMemory) {
  Model model(affine_graph(2));
  Tensor x = Tensor::full<float>({5000, 2}, 1.0F), y = Tensor::full<float>({5000, 2}, 1.0F);
  const auto good = std::make_shared<data::TensorDataset>(std::vector{x.clone()}, std::vector{y});
  x.data<float>()[9001] = std::nanf("");
  const auto bad = std::make_shared<data::TensorDataset>(std::vector{x}, std::vector{y});
  auto recorder = std::make_shared<Recorder>();
  Trainer trainer(model, squared_error(), optim::sgd(), quiet({.callbacks = {recorder}}));
  const std::string place = "input 'x' holds NaN in column 1, row 4500: leave such rows out or fill them";
  EXPECT_EQ(error_text([&] { trainer.fit(*bad); }), place);
  EXPECT_EQ(error_text([&] { trainer.fit(*good, *bad); }), place);
  EXPECT_THAT(error_text([&] { trainer.fit(data::Concat({good, bad})); }), HasSubstr("row 9500"));
  EXPECT_TRUE(recorder->events.empty());
  EXPECT_EQ(error_text([&] { trainer.fit(data::Subset::first(bad, 4500)); }), "no error") << "it is left out";
}

TEST(Trainer, ANanLossNamesTheBatch) {
  Model model(affine_graph(2));
  Tensor x = Tensor::full<float>({10, 2}, 1.0F), y = Tensor::full<float>({10, 2}, 1.0F);
  x.data<float>()[13] = std::nanf("");  // row 6: the fourth batch of two
  const HiddenData train({x}, {y});
  auto recorder = std::make_shared<Recorder>();
  TrainOptions options = quiet({.batch_size = 2, .shuffle = false, .callbacks = {recorder}});
  Trainer trainer(model, squared_error(), optim::sgd(), options);
  try {
    trainer.fit(train);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("step 4"), HasSubstr("batch 4 of 5"),
                                    HasSubstr("input 'x' holds NaN in column 1, row 0 of the batch")));
  }
  EXPECT_EQ(trainer.state().progress.iteration, 3);
  EXPECT_TRUE(std::isfinite(floats(model.weight("layer.weight"))[0]));

  options.non_finite = NonFinite::kSkip;
  Trainer skipping(model, squared_error(), optim::sgd(), options);
  skipping.fit(train);
  EXPECT_EQ(skipping.state().progress.iteration, 4);
  EXPECT_TRUE(std::isfinite(floats(model.weight("layer.weight"))[0]));
  EXPECT_THAT(recorder->events, ::testing::Contains(HasSubstr("skipped")));
}

/// Every third sample cannot be read.
struct PartlyBadData : HiddenData {
  using HiddenData::HiddenData;
  void read(std::span<const int64_t> indices, const data::Draw& draw, const data::Batch& batch,
            int64_t row) const override {
    for (const int64_t index : indices) TW_REQUIRE(index % 3 != 2, "sample ", index, " is broken");
    TensorDataset::read(indices, draw, batch, row);
  }
};

TEST(Trainer, BadSamplesAreLeftOutOfTrainingAndValidationAndTold) {
  Model model(affine_graph(2));
  const Tensor x = random_tensor(DType::kF32, {9, 2}, 1);
  const PartlyBadData data({x}, {x});
  auto recorder = std::make_shared<Recorder>();
  // Batches of one: some are empty.
  TrainOptions options = quiet({.epochs = 2, .batch_size = 1, .shuffle_window = 4, .callbacks = {recorder}});
  EXPECT_THAT(error_text([&] { Trainer(model, squared_error(), optim::sgd(), options).fit(data); }),
              HasSubstr("is broken"));
  options.bad_samples = data::BadSample::kSkip;
  options.readers = 3;
  Trainer trainer(model, squared_error(), optim::sgd(), options);
  trainer.fit(data, data);
  EXPECT_EQ(trainer.state().progress.iteration, 12);
  EXPECT_EQ(trainer.skipped().count, 12) << "three in each epoch and each validation";
  EXPECT_THAT(recorder->events, ::testing::Contains(HasSubstr("12 samples that could not be read were left out: ")));
  EXPECT_TRUE(std::isfinite(trainer.evaluate(data).at("loss")));
  EXPECT_EQ(trainer.skipped().count, 15);
}

/// Samples that have to be read to know what is in them.
class Unread : public data::TensorDataset {
 public:
  using TensorDataset::TensorDataset;
  bool is_in_memory() const override { return false; }
};

template <typename Data>
std::string said_of_label_7() {
  Model model(affine_graph(3));
  const auto before = floats(model.weight("layer.weight"));
  const Data train({random_tensor(DType::kF32, {4, 3}, 1)}, {Tensor::from<int64_t>({4}, {0, 2, 7, 1})});
  Trainer trainer(model, losses::cross_entropy, optim::sgd(), quiet());
  const std::string said = error_text([&] { trainer.fit(train); });
  EXPECT_EQ(floats(model.weight("layer.weight")), before);
  return said;
}

TEST(Trainer, ALabelOutOfRangeChangesNothing) {
  EXPECT_THAT(said_of_label_7<data::TensorDataset>(), HasSubstr("the target holds class 7 in row 2"));
  const std::string read = said_of_label_7<Unread>();
  EXPECT_THAT(read, HasSubstr("step 1 (epoch 1, batch 1 of 1): softmax_cross_entropy"));
  EXPECT_THAT(read, HasSubstr("label 7"));
}

TEST(Trainer, DataToValidateOnIsLookedAtBeforeTheFirstStep) {
  Model model(affine_graph(3));
  const auto before = floats(model.weight("layer.weight"));
  const auto data_of = [](int64_t columns, Tensor labels) {
    return data::TensorDataset({random_tensor(DType::kF32, {4, columns}, 1)}, {std::move(labels)});
  };
  const Tensor labels = Tensor::from<int64_t>({4}, {0, 2, 0, 1});
  TrainOptions options = quiet();
  options.metrics = {metrics::accuracy()};
  Trainer trainer(model, losses::cross_entropy, optim::sgd(), options);
  for (const auto& validation :
       {data_of(2, labels), data_of(3, labels.to(DType::kF32)), data_of(3, labels.reshaped({4, 1}))}) {
    EXPECT_THAT(error_text([&] { trainer.fit(data_of(3, labels), validation); }),
                HasSubstr("the data to validate on do not fit"));
  }
  EXPECT_THAT(error_text([&] {
                trainer.fit(data_of(3, labels), data_of(3, Tensor::from<int64_t>({4}, {0, 1, 2, 3})));
              }),
              HasSubstr("class 3 in row 3"));
  EXPECT_EQ(floats(model.weight("layer.weight")), before);
  EXPECT_NO_THROW(trainer.fit(data_of(3, labels), data_of(3, labels)));
}

TEST(Trainer, StopsWhenAsked) {
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  auto recorder = std::make_shared<Recorder>();
  Trainer trainer(model, squared_error(), optim::sgd(),
                  quiet({.epochs = 1000000, .batch_size = 5, .callbacks = {recorder}}));
  recorder->at_step = [&](const TrainState& state) {
    if (state.progress.iteration == 7) trainer.request_stop();
  };
  trainer.fit(train);
  EXPECT_EQ(trainer.state().progress.iteration, 7);
  EXPECT_NO_THROW(model.predict({Tensor::zeros(DType::kF32, {1, 2})}));
  trainer.request_stop(false);
  recorder->at_step = [&](const TrainState& state) {
    if (state.progress.iteration == 9) trainer.request_stop();
  };
  trainer.fit(train);
  EXPECT_EQ(trainer.state().progress.iteration, 9) << "a second call goes on";
}

/// Of which nothing comes after the first ten batches of two, as from a file server that hangs.
class HangingData : public data::TensorDataset {
 public:
  using TensorDataset::TensorDataset;
  void read(std::span<const int64_t> indices, const data::Draw& draw, const data::Batch& batch,
            int64_t row) const override {
    const std::shared_ptr<State> state = state_;
    if (++state->batches > 10) {
      state->hanging.acquire();
      state->hanging.release();
      return;
    }
    TensorDataset::read(indices, draw, batch, row);
  }
  bool is_in_memory() const override { return false; }
  void end() const { state_->hanging.release(); }

 private:
  struct State {
    std::atomic<int> batches{0};
    std::counting_semaphore<> hanging{0};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(Trainer, AStopEndsAWaitForData) {
  Model model(affine_graph(2));
  const TemporaryDirectory directory;
  const HangingData train({Tensor::zeros(DType::kF32, {1000, 2})}, {Tensor::zeros(DType::kF32, {1000, 2})});
  struct StopInAWait : Callback {
    Trainer* trainer = nullptr;
    void on_wait() override {
      if (trainer->state().progress.iteration == 10) trainer->request_stop();
    }
  };
  const auto stop = std::make_shared<StopInAWait>();
  TrainOptions options = quiet({.batch_size = 2, .callbacks = {stop}});
  options.checkpoints.directory = directory.path().string();
  Trainer trainer(model, squared_error(), optim::sgd(), options);
  stop->trainer = &trainer;
  trainer.fit(train);
  EXPECT_EQ(trainer.state().progress.iteration, 10);
  EXPECT_TRUE(Trainer::can_resume(directory.path().string())) << "as after any other stop";
  train.end();
}

TEST(Trainer, WhatACallbackThrowsLeavesFit) {
  Model model(affine_graph(2));
  const auto train = affine_data(100, 2);
  auto recorder = std::make_shared<Recorder>();
  recorder->at_step = [](const TrainState&) { raise("enough"); };
  Trainer trainer(model, squared_error(), optim::sgd(), quiet({.batch_size = 5, .callbacks = {recorder}}));
  EXPECT_THROW(trainer.fit(train), Error);
}

TEST(Trainer, OthersMayPredictMeanwhile) {
  Model model(affine_graph(4), {.threads = 1});
  const auto train = affine_data(64, 4);
  Trainer trainer(model, squared_error(), optim::sgd(),
                  quiet({.epochs = 50, .batch_size = 8, .learning_rate = 0.01, .threads = 1}));
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0}, calls{0};
  std::thread reader([&] {
    while (!stop) {
      for (const float y : floats(model.predict({Tensor::full<float>({2, 4}, 1.0F)})[0]))
        bad += std::isfinite(y) ? 0 : 1;
      ++calls;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  EXPECT_TRUE(eventually([&] { return calls > 0; }));
  trainer.fit(train, train);
  stop = true;
  reader.join();
  EXPECT_EQ(bad, 0);
}

TEST(Trainer, TrainsInBf16) {
  ::setenv("THALWEG_BF16", "emulate", 1);
  const auto train = conv_data(60);
  const auto run = [&](Precision precision) {
    Model model(conv_graph());
    Trainer trainer(model, squared_error(), optim::adam(),
                    quiet({.epochs = 6, .batch_size = 12, .learning_rate = 0.01, .precision = precision}));
    const double loss = trainer.fit(train).back().loss;
    return std::pair(loss, floats(model.weight("conv2.weight")));
  };
  const auto [f32_loss, f32_weight] = run(Precision::kF32);
  const auto [bf16_loss, bf16_weight] = run(Precision::kBF16);
  EXPECT_NEAR(bf16_loss, f32_loss, 0.1 * f32_loss);
  EXPECT_NE(bf16_weight, f32_weight) << "computed in f32 after all";
}

TEST(Trainer, WritesTensorBoardEvents) {
  const TemporaryDirectory folder;
  Model model(affine_graph(2));
  const auto train = affine_data(10, 2);
  Trainer trainer(model, squared_error(), optim::sgd(), quiet({.batch_size = 5, .tensorboard = folder / "events"}));
  trainer.fit(train, train);
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "events")) events += read_bytes(entry.path());
  for (const char* tag : {"train/loss", "train/learning_rate", "train/samples_per_second", "validation/loss"}) {
    EXPECT_THAT(events, HasSubstr(tag));
  }
}

TEST(Trainer, MeasuresEachOfSeveralOutputs) {
  auto graph = affine_graph(3);
  graph->mark_output(ops::mul(graph->outputs()[0], 2.0), "twice");
  Model model(std::move(graph));
  const auto x = random_tensor(DType::kF32, {6, 3}, 1);
  const std::vector<Tensor> exact = model.predict({x});
  const Loss loss = [](const Loss::Values& outputs, const Loss::Values& targets) {
    return ops::reduce_mean(ops::abs(ops::sub(outputs[0], targets[1])));
  };
  Trainer trainer(model, loss, optim::sgd(), quiet());
  const data::TensorDataset data({x}, {exact[1], exact[0]});
  const Scores scores = trainer.evaluate(data, {metrics::on_output(metrics::mean_absolute_error(), 0, 1, "first"),
                                                metrics::on_output(metrics::mean_absolute_error(), 1, 0)});
  EXPECT_EQ(scores.at("first"), 0);
  EXPECT_EQ(scores.at("mae.1"), 0);
  EXPECT_THAT(error_text([&] { trainer.evaluate(data, {metrics::on_output(metrics::accuracy(), 2, 0)}); }),
              HasSubstr("output 2, but the model has 2"));
}

TEST(Trainer, RejectsWhatCannotWork) {
  Model model(affine_graph(2));
  EXPECT_THROW(Trainer(model, squared_error(), optim::sgd(), quiet({.score = "fame"})), Error);
  EXPECT_THROW(Trainer(model, squared_error(), optim::sgd(), quiet({.accumulate = 0})), Error);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<const char*, TrainOptions> bad[] = {{"learning_rate", {.learning_rate = nan}},
                                                      {"learning_rate", {.learning_rate = -0.1}},
                                                      {"clip_norm", {.clip_norm = -1}},
                                                      {"clip_value", {.clip_value = -1}},
                                                      {"batch_size", {.batch_size = 0}},
                                                      {"prefetch", {.prefetch = 0}},
                                                      {"readers", {.readers = 100000}},
                                                      {"shuffle_window", {.shuffle_window = -1}},
                                                      {"checkpoints.keep", {.checkpoints = {.keep = 0}}},
                                                      {"patience", {.early_stopping = {.patience = -1}}}};
  for (const auto& [name, options] : bad) {
    EXPECT_THAT(error_text([&, &given = options] { Trainer(model, squared_error(), optim::sgd(), given); }),
                HasSubstr(name));
  }
  for (const int threads : {-3, 100000}) {
    EXPECT_THAT(error_text([&] {
                  Trainer(model, squared_error(), optim::sgd(), quiet({.threads = threads})).fit(affine_data(10, 2));
                }),
                HasSubstr(std::to_string(threads) + " threads"));
  }
  Trainer trainer(model, squared_error(), optim::sgd(), quiet());
  EXPECT_THROW(trainer.fit(affine_data(10, 3)), Error) << "another number of features";
  EXPECT_THROW(trainer.fit(data::TensorDataset({Tensor::zeros(DType::kF32, {0, 2})})), Error) << "no samples";
  EXPECT_THROW(trainer.fit(data::TensorDataset({Tensor::zeros(DType::kF32, {4, 2})})), Error) << "no targets";
}

}  // namespace
}  // namespace thalweg::testing
