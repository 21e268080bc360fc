// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "support/temporary_directory.h"
#include "sync/callbacks.h"
#include "sync/workers.h"

// What the rows of scheme_table.h consist of, and the checks of the papers that several of them share.

namespace thalweg::testing {

/// What workers end with.
enum class Outcome {
  kOfOneWorker,  ///< the weights of one worker with the whole batch, also if the group changes on the way
  kRepeatable,   ///< one set of weights that fits the data, the same in every undisturbed run
  kGood          ///< one set of weights that fits the data
};

/// How a preset learns handwritten digits (digits_long_test.cc): by Adam, unless a momentum of sgd is given.
struct DigitsJob {
  std::map<std::string, double> options = {};
  std::optional<double> momentum = std::nullopt;
  double rate = 0.001;
  int64_t epochs = 2;
};

struct SchemeRow {
  /// Of the preset, with options that make something happen in few steps.
  sync::SchemeOptions scheme;
  Outcome outcome = Outcome::kGood;
  /// What its paper says of it, with so many workers: fails if the scheme does something else.
  std::function<void(int workers)> is_faithful;
  /// Of the optimiser.
  double momentum = 0.9;
  /// After every step: those that take no time would be over before the messages of others have come.
  std::chrono::milliseconds pause{0};
  DigitsJob digits = {};
};

/// Two layers on 320 samples; 60 steps.
struct SmallJob {
  TrainOptions options = [] {
    TrainOptions made = group_train_options();
    made.epochs = 12;
    return made;
  }();
  double momentum = 0.9;
  std::chrono::milliseconds pause{0};
  static data::TensorDataset data() { return two_layers_data(320); }
  optim::Optimizer optimizer() const { return optim::sgd({.momentum = momentum}); }
};

/// The parameters of one worker without a group.
inline std::vector<NamedTensor> train_alone(const SmallJob& job) {
  Model model(two_layers());
  Trainer(model, squared_error(), job.optimizer(), job.options).fit(SmallJob::data());
  return parameters_of(model);
}

/// One worker, as a thread of this process runs it.
inline std::vector<NamedTensor> train_member(const SmallJob& job, const sync::SchemeOptions& scheme,
                                             const std::string& rendezvous, std::shared_ptr<Callback> callback,
                                             const std::string& resume = "") {
  Model model(two_layers());
  TrainOptions own = job.options;
  const std::shared_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous));
  show_group(callback, group);
  if (callback != nullptr) own.callbacks = {std::move(callback)};
  auto pause = std::make_shared<Watch>();
  pause->pause = job.pause;
  own.callbacks.push_back(std::move(pause));
  own.scheme = sync::make_scheme(scheme, group);
  Trainer trainer(model, squared_error(), job.optimizer(), own);
  if (!resume.empty()) trainer.resume(resume);
  trainer.fit(SmallJob::data());
  return parameters_of(model);
}

/// The parameters of each of so many workers.
inline std::vector<std::vector<NamedTensor>> train_group(int workers, const SmallJob& job,
                                                         const sync::SchemeOptions& scheme,
                                                         const std::string& resume = "") {
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  std::vector<std::future<std::vector<NamedTensor>>> pending;
  for (int i = 0; i < workers; ++i) {
    pending.push_back(std::async(std::launch::async,
                                 [&] { return train_member(job, scheme, rendezvous.address(), nullptr, resume); }));
  }
  std::vector<std::vector<NamedTensor>> results;
  for (auto& entry : pending) results.push_back(entry.get());
  return results;
}

inline double loss_of(const std::vector<NamedTensor>& weights) {
  Model model(two_layers());
  for (const NamedTensor& entry : weights) model.set_weight(entry.name, entry.tensor);
  Trainer trainer(model, squared_error(), optim::sgd(), group_train_options());
  return trainer.evaluate(SmallJob::data()).at("loss");
}

inline double untrained_loss() {
  const Model untrained(two_layers());
  return loss_of(parameters_of(untrained));
}

/// Weights of all workers are the same, and what the row promises.
inline void expect_outcome(const SchemeRow& row, const SmallJob& job,
                           const std::vector<std::vector<NamedTensor>>& results) {
  for (const auto& weights : results) EXPECT_EQ(difference(weights, results[0]), 0) << "workers differ";
  if (row.outcome == Outcome::kOfOneWorker) {
    EXPECT_LT(difference(results[0], train_alone(job)), 1e-5);
  } else {
    EXPECT_LT(loss_of(results[0]), 0.3 * untrained_loss());
  }
}

// The checks of the papers that several rows share.

/// n workers are one worker with the whole batch.
inline void expect_one_worker(const sync::SchemeOptions& scheme, int workers) {
  const SmallJob job;
  const auto results = train_group(workers, job, scheme);
  for (const auto& weights : results) EXPECT_LT(difference(weights, train_alone(job)), 1e-5);
}

/// Without momentum, and with shares of one size, both give the same.
inline void expect_same(const sync::SchemeOptions& scheme, const sync::SchemeOptions& other, int workers,
                        double tolerance) {
  SmallJob job;
  job.momentum = 0;
  const auto one = train_group(workers, job, scheme), two = train_group(workers, job, other);
  EXPECT_LT(difference(one[0], two[0]), tolerance);
}

/// Nobody waits for anybody: the others make half of their steps while one of the workers stands at its first.
inline void expect_nobody_waits(const sync::SchemeOptions& scheme, int workers) {
  const SmallJob job;
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  std::vector<std::shared_ptr<Watch>> watches;
  for (int i = 0; i < workers; ++i) watches.push_back(std::make_shared<Watch>());
  watches[0]->hold_at = 1;
  watches[0]->may_go_on = [&] {
    return std::all_of(watches.begin() + 1, watches.end(), [](const auto& watch) { return watch->steps >= 30; });
  };
  std::vector<std::future<std::vector<NamedTensor>>> pending;
  for (const auto& watch : watches) {
    // Steps that take no time would all be made with the weights of the beginning.
    watch->pause = std::chrono::milliseconds(2);
    pending.push_back(
        std::async(std::launch::async, [&] { return train_member(job, scheme, rendezvous.address(), watch); }));
  }
  std::vector<std::vector<NamedTensor>> results;
  for (auto& entry : pending) results.push_back(entry.get());
  for (const auto& weights : results) EXPECT_EQ(difference(weights, results[0]), 0) << "workers differ";
  EXPECT_LT(loss_of(results[0]), 0.5 * untrained_loss());
}

/// How far the weights of workers are from each other's, at most, after 40 of 60 steps, which all make side by side.
inline double disagreement(const sync::SchemeOptions& scheme, int workers) {
  std::atomic<int64_t> made{0};
  struct Look : Callback {
    Look(std::atomic<int64_t>& steps, int number) : made(steps), workers(number) {}
    std::atomic<int64_t>& made;
    int workers;
    const Model* model = nullptr;
    std::vector<NamedTensor> seen;
    void on_step(const TrainState& state) override {
      ++made;
      EXPECT_TRUE(eventually([&] { return made >= workers * state.progress.iteration; }));
      if (state.progress.iteration == 40) seen = parameters_of(*model);
    }
  };
  const SmallJob job;
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  std::vector<std::future<std::vector<NamedTensor>>> pending;
  for (int i = 0; i < workers; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      Model model(two_layers());
      const auto look = std::make_shared<Look>(made, workers);
      look->model = &model;
      TrainOptions own = job.options;
      own.callbacks = {look};
      own.scheme = sync::make_scheme(scheme, comm::Group::join(member_of(rendezvous.address())));
      Trainer(model, squared_error(), job.optimizer(), own).fit(SmallJob::data());
      return look->seen;
    }));
  }
  std::vector<std::vector<NamedTensor>> seen;
  for (auto& entry : pending) seen.push_back(entry.get());
  double most = 0;
  for (const auto& weights : seen) most = std::max(most, difference(weights, seen[0]));
  return most;
}

/// All end with one set of weights that fits the data.
inline void expect_good(const sync::SchemeOptions& scheme, int workers) {
  SmallJob job;
  job.pause = std::chrono::milliseconds(2);
  expect_outcome({scheme, Outcome::kGood, nullptr}, job, train_group(workers, job, scheme));
}

/// Workers that train by themselves come nearer to each other than without any exchange.
inline void expect_mixing(const sync::SchemeOptions& scheme, const sync::SchemeOptions& independent, int workers) {
  const double mixed = disagreement(scheme, workers), apart = disagreement(independent, workers);
  EXPECT_GT(apart, 0);
  EXPECT_LT(mixed, 0.7 * apart) << "workers do not come together";
}

/// Without any pull workers are independent until they take the mean at the end; with it they are not.
inline void expect_independent(const sync::SchemeOptions& without, const sync::SchemeOptions& with, int workers) {
  SmallJob job;
  job.pause = std::chrono::milliseconds(2);
  const auto alone = train_group(workers, job, {.name = "localsgd", .options = {{"period", 1000}}});
  EXPECT_LT(difference(train_group(workers, job, without)[0], alone[0]), 1e-5);
  EXPECT_GT(difference(train_group(workers, job, with)[0], alone[0]), 1e-4);
}

/// All end with the center: without elasticity that stays where it was.
inline void expect_center_moves(const std::string& name, double momentum, int workers) {
  SmallJob job;
  job.momentum = momentum;
  job.pause = std::chrono::milliseconds(2);
  const std::vector<NamedTensor> before = parameters_of(Model(two_layers()));
  for (const auto& weights : train_group(workers, job, {.name = name, .options = {{"period", 2}, {"beta", 0}}})) {
    EXPECT_EQ(difference(weights, before), 0);
  }
  const auto pulled = train_group(workers, job, {.name = name, .options = {{"period", 2}}});
  EXPECT_GT(difference(pulled[0], before), 1e-3);
}

}  // namespace thalweg::testing
