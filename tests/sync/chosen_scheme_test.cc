// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The scheme `auto`, between workers that are threads of this process.
#include <gmock/gmock.h>

#include "support/error_text.h"
#include "sync/scheme_table.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

/// Makes a worker's measured steps last, and remembers how many there were and what was said.
struct Slow : Callback {
  explicit Slow(std::chrono::milliseconds time) : pause(time) {}
  std::chrono::milliseconds pause;
  std::atomic<int64_t> measured{0}, steps{0};
  std::vector<int64_t> numbers;
  std::vector<std::string> messages;
  void on_measured_step(const TrainState& /*state*/) override {
    ++measured;
    std::this_thread::sleep_for(pause);
  }
  void on_step(const TrainState& state) override {
    ++steps;
    numbers.push_back(state.progress.iteration);
  }
  void on_message(const std::string& text) override { messages.push_back(text); }
};

struct Result {
  std::vector<NamedTensor> weights;
  std::optional<sync::SchemeChoice> choice;
  std::vector<EpochRecord> history;
};

Result train_one(const SmallJob& job, const sync::SchemeOptions& scheme, const std::string& rendezvous,
                 std::shared_ptr<Callback> callback, const std::string& resume = "") {
  Model model(two_layers());
  TrainOptions own = job.options;
  if (callback != nullptr) own.callbacks = {std::move(callback)};
  own.scheme = sync::make_scheme(scheme, comm::Group::join(member_of(rendezvous)));
  Trainer trainer(model, squared_error(), job.optimizer(), own);
  if (!resume.empty()) trainer.resume(resume);
  trainer.fit(SmallJob::data());
  return {weights_of(model), sync::choice_of(*own.scheme), trainer.history()};
}

/// A worker for each of the callbacks, in any order of rank.
std::vector<Result> train(const SmallJob& job, const sync::SchemeOptions& scheme,
                          const std::vector<std::shared_ptr<Callback>>& callbacks, const std::string& resume = "") {
  const int workers = static_cast<int>(callbacks.size());
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  std::vector<std::future<Result>> pending;
  for (const auto& callback : callbacks) {
    pending.push_back(std::async(
        std::launch::async, [&, callback] { return train_one(job, scheme, rendezvous.address(), callback, resume); }));
  }
  std::vector<Result> results;
  for (auto& entry : pending) results.push_back(entry.get());
  return results;
}

std::vector<std::shared_ptr<Callback>> pauses(const std::vector<int>& milliseconds) {
  std::vector<std::shared_ptr<Callback>> result;
  for (const int pause : milliseconds) result.push_back(std::make_shared<Slow>(std::chrono::milliseconds(pause)));
  return result;
}

const Slow& slow(const std::shared_ptr<Callback>& callback) { return dynamic_cast<const Slow&>(*callback); }

TEST(ChosenScheme, EvenWorkersOnAFastLinkTrainAsOneAndAsIfNothingWasMeasured) {
  const SmallJob job;
  // So long that what a busy machine adds is little of it.
  const auto callbacks = pauses({300, 300});
  const std::vector<Result> results = train(job, {.name = "auto", .options = {{"steps", 4}}}, callbacks);
  ASSERT_TRUE(results[0].choice);
  EXPECT_EQ(results[0].choice->scheme.name, "allreduce") << results[0].choice->why;
  EXPECT_EQ(results[0].choice->scheme.compression, "none") << results[0].choice->why;
  // States of normalisation, the order of samples and the counts of steps are those of a run without a measurement.
  const std::vector<Result> named = train(job, {.name = "allreduce"}, pauses({0, 0}));
  for (const Result& result : results) {
    const bool is_first = difference(result.weights, named[0].weights) == 0;
    EXPECT_TRUE(is_first || difference(result.weights, named[1].weights) == 0);
    ASSERT_EQ(result.history.size(), named[0].history.size());
    EXPECT_EQ(result.history.back().iteration, named[0].history.back().iteration);
    EXPECT_EQ(result.history.front().loss, named[0].history.front().loss);
  }
  for (const auto& callback : callbacks) {
    EXPECT_GE(slow(callback).measured, 4);
    EXPECT_EQ(slow(callback).steps, 60);
    EXPECT_EQ(slow(callback).numbers.front(), 1);
    ASSERT_EQ(slow(callback).messages.size(), 1U);
    EXPECT_THAT(slow(callback).messages[0], HasSubstr("scheme auto is allreduce: a worker computes for "));
  }
}

TEST(ChosenScheme, AWorkerThatIsMuchSlowerIsNotWaitedFor) {
  for (const std::vector<int>& times : {std::vector<int>{10, 400}, {10, 10, 400, 10}}) {
    const SmallJob job;
    const std::vector<Result> results = train(job, {.name = "auto", .options = {{"steps", 3}}}, pauses(times));
    for (const Result& result : results) {
      ASSERT_TRUE(result.choice);
      const std::string& name = result.choice->scheme.name;
      EXPECT_TRUE(name == "easgd" || (times.size() > 2 && name == "tensorflow")) << name << ": " << result.choice->why;
    }
  }
}

TEST(ChosenScheme, OneWorkerBeginsAtOnce) {
  const SmallJob job;
  const auto callbacks = pauses({0});
  const std::vector<Result> results = train(job, {.name = "auto"}, callbacks);
  EXPECT_EQ(slow(callbacks[0]).measured, 0);
  EXPECT_EQ(results[0].choice->scheme.name, "allreduce");
  const SmallJob alone;
  std::vector<NamedTensor> weights = results[0].weights;
  std::erase_if(weights, [](const NamedTensor& entry) { return entry.name == "seen"; });
  EXPECT_LT(difference(weights, train_alone(alone)), 1e-5);
}

TEST(ChosenScheme, AWorkerThatIsLostWhileAllMeasureIsDoneWithout) {
  struct LeaveWhileMeasuring : Callback {
    void on_measured_step(const TrainState& state) override {
      TW_REQUIRE(state.progress.iteration < 2, "left on purpose");
    }
  };
  const SmallJob job;
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
  const sync::SchemeOptions scheme{.name = "auto"};
  std::vector<std::future<Result>> others;
  for (int i = 0; i < 2; ++i) {
    others.push_back(std::async(std::launch::async, [&] {
      return train_one(job, scheme, rendezvous.address(), std::make_shared<Slow>(std::chrono::milliseconds(5)));
    }));
  }
  EXPECT_THROW(train_one(job, scheme, rendezvous.address(), std::make_shared<LeaveWhileMeasuring>()), Error);
  for (auto& other : others) {
    const Result result = other.get();
    EXPECT_TRUE(result.choice);
    EXPECT_EQ(result.history.back().iteration, 60);
  }
  EXPECT_GE(rendezvous.state().epoch, 2U);
}

TEST(ChosenScheme, ARunGoesOnFromACheckpointWithWhatWasChosen) {
  const TemporaryDirectory folder;
  SmallJob job;
  job.options.end = optim::max_iteration(20);
  job.options.checkpoints = {.directory = folder.path().string(), .when = optim::several_iterations(20)};
  const auto before = train(job, {.name = "auto", .options = {{"steps", 3}}}, pauses({10, 400}));
  const SmallJob whole;
  const auto callbacks = pauses({0, 0});
  const auto after = train(whole, {.name = "auto"}, callbacks, folder.path().string());
  for (const auto& callback : callbacks) EXPECT_EQ(slow(callback).measured, 0) << "measured again";
  for (const Result& result : after) EXPECT_EQ(result.choice->scheme.name, before[0].choice->scheme.name);
}

TEST(ChosenScheme, ARunMayBeOverBeforeItsFirstStepOrWithIt) {
  for (const int64_t steps : {0, 1}) {
    SmallJob job;
    job.options.end = optim::max_iteration(steps);
    job.options.checkpoints.directory = "";
    for (const Result& result : train(job, {.name = "auto", .options = {{"steps", 3}}}, pauses({1, 1}))) {
      EXPECT_TRUE(result.choice);
    }
  }
}

TEST(ChosenScheme, ChoosesItsCompressionByItself) {
  EXPECT_THAT(error_text([] { sync::check_scheme({.name = "auto", .compression = "bf16"}); }),
              HasSubstr("compression bf16 does not go with the scheme auto, which chooses one by itself"));
  EXPECT_THAT(error_text([] {
                sync::check_scheme({.name = "auto", .options = {{"period", 3}}});
              }),
              HasSubstr("option period means nothing to the scheme auto; it is one of: "));
}

}  // namespace
}  // namespace thalweg::testing
