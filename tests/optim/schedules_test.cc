// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optim/golden.h"
#include "thalweg/error.h"

namespace thalweg::optim {
namespace {

using ::testing::HasSubstr;

Progress at_iteration(int64_t iteration, int64_t epoch = 0) {
  Progress progress;
  progress.iteration = iteration;
  progress.epoch = epoch;
  return progress;
}

double rate_at(const SchedulePtr& schedule, int64_t iteration, int64_t epoch = 0) {
  return schedule->learning_rate(at_iteration(iteration, epoch));
}

void expect_golden(const std::string& name, const SchedulePtr& schedule) {
  const nlohmann::json golden = read_golden("schedules.json");
  ASSERT_EQ(golden[name].size(), 24U) << name;
  for (size_t i = 0; i < golden[name].size(); ++i) {
    EXPECT_NEAR(rate_at(schedule, static_cast<int64_t>(i)), golden[name][i].get<double>(), 1e-12)
        << name << " at iteration " << i;
  }
}

TEST(Schedules, FollowPyTorch) {
  expect_golden("step", step(0.1, 5, 0.3));
  expect_golden("multistep", multistep(0.1, {3, 10, 11}, 0.5));
  expect_golden("poly", poly(0.1, 20, 1.5));
  expect_golden("exponential", exponential(0.1, 1, 0.9));
  expect_golden("cosine", cosine(0.1, 23, 0.01));
  expect_golden("one_cycle", one_cycle(0.4, 25));
  expect_golden(
      "one_cycle_linear",
      one_cycle(0.4, 25, {.warm_up_share = 0.4, .initial_divisor = 10, .final_divisor = 100, .linear = true}));
  expect_golden("warm_up_cosine", sequential({{warm_up(0.01, 0.1, 4), 4}, {cosine(0.1, 21), 0}}));
}

void expect_plateau_golden(const std::string& name, const SchedulePtr& schedule) {
  const nlohmann::json golden = read_golden("schedules.json")[name];
  double lowest = 1.0;
  for (size_t i = 0; i < golden["scores"].size(); ++i) {
    Progress progress;
    progress.score = golden["scores"][i];
    schedule->observe(progress);
    EXPECT_NEAR(rate_at(schedule, 0), golden["rates"][i].get<double>(), 1e-12) << name << " " << i;
    lowest = golden["rates"][i];
  }
  EXPECT_LT(lowest, 0.1) << "the scores never make PyTorch reduce the rate";
}

TEST(Schedules, PlateauFollowsPyTorch) {
  expect_plateau_golden("plateau", plateau(0.1, {.factor = 0.5, .patience = 2}));
  expect_plateau_golden("plateau_cooldown", plateau(0.1, {.factor = 0.5,
                                                          .patience = 1,
                                                          .threshold = 0.01,
                                                          .relative_threshold = false,
                                                          .cooldown = 2,
                                                          .lowest = 0.03}));
}

TEST(Schedules, PlateauCanWaitForHigherScores) {
  const SchedulePtr schedule = plateau(1.0, {.factor = 0.5, .patience = 0, .higher_is_better = true});
  Progress progress;
  for (const double score : {0.5, 0.6, 0.7}) {
    progress.score = score;
    schedule->observe(progress);
  }
  EXPECT_EQ(rate_at(schedule, 0), 1.0);
  progress.score = 0.65;
  schedule->observe(progress);
  EXPECT_EQ(rate_at(schedule, 0), 0.5);
}

TEST(Schedules, Formulas) {
  EXPECT_EQ(rate_at(constant(0.3), 1000), 0.3);
  EXPECT_EQ(rate_at(poly(0.1, 20, 2.0), 100), 0.0);
  EXPECT_NEAR(rate_at(epoch_step(1.0, 2, 0.1), 77, 5), 0.01, 1e-15);
  const auto third = [](int64_t epoch) { return epoch >= 3 ? 1.0 : 0.0; };
  EXPECT_NEAR(rate_at(epoch_decay(1.0, third), 0, 2), 1.0, 1e-15);
  EXPECT_NEAR(rate_at(epoch_decay(1.0, third), 0, 3), 0.1, 1e-15);
  EXPECT_NEAR(rate_at(exponential(1.0, 10, 0.5), 15), std::pow(0.5, 1.5), 1e-15);
  EXPECT_NEAR(rate_at(exponential(1.0, 10, 0.5, true), 15), 0.5, 1e-15);
  EXPECT_NEAR(rate_at(natural_exponential(1.0, 10, 0.2), 25), std::exp(-0.4), 1e-15);
  EXPECT_NEAR(rate_at(cosine(1.0, 10, 0.1), 99), 0.1, 1e-15);
  EXPECT_NEAR(rate_at(warm_up(0.0, 1.0, 4), 3), 0.75, 1e-15);
  EXPECT_NEAR(rate_at(warm_up(0.0, 1.0, 4), 9), 1.0, 1e-15);
}

TEST(Schedules, StagesCountFromTheirOwnStart) {
  const SchedulePtr schedule = sequential({{constant(5.0), 20}, {epoch_step(1.0, 1, 0.5), 20}, {step(7.0, 2, 0.1), 0}});
  Progress progress = at_iteration(19, 1);
  progress.iterations_per_epoch = 10;
  EXPECT_EQ(schedule->learning_rate(progress), 5.0);
  progress = {.iteration = 20, .epoch = 2, .iterations_per_epoch = 10};
  EXPECT_EQ(schedule->learning_rate(progress), 1.0);
  progress = {.iteration = 35, .epoch = 3, .iterations_per_epoch = 10};
  EXPECT_EQ(schedule->learning_rate(progress), 0.5);
  EXPECT_NEAR(schedule->learning_rate({.iteration = 42}), 0.7, 1e-15);
}

TEST(Schedules, StateContinuesInARestoredSchedule) {
  const auto make = [] { return sequential({{constant(1.0), 2}, {plateau(1.0, {.factor = 0.5, .patience = 1}), 0}}); };
  const SchedulePtr whole = make();
  const SchedulePtr resumed = make();
  Progress progress = at_iteration(5);
  progress.score = 1.0;
  whole->observe(progress);
  whole->observe(progress);
  EXPECT_EQ(rate_at(whole, 5), 1.0);
  resumed->restore(whole->state());
  resumed->observe(progress);
  EXPECT_EQ(rate_at(resumed, 5), 0.5);
}

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Schedules, Errors) {
  EXPECT_THAT(error_of([] { constant(-1.0); }), HasSubstr("constant: the learning rate is -1"));
  EXPECT_THAT(error_of([] { step(1.0, 0, 0.1); }), HasSubstr("interval is 0"));
  EXPECT_THAT(error_of([] { multistep(1.0, {3, 2}, 0.1); }), HasSubstr("ascend"));
  EXPECT_THAT(error_of([] { one_cycle(1.0, 3); }), HasSubstr("one_cycle"));
  EXPECT_THAT(error_of([] { plateau(1.0, {.factor = 1.0}); }), HasSubstr("factor is 1"));
  EXPECT_THAT(error_of([] { sequential({{constant(1.0), 0}, {constant(1.0), 0}}); }), HasSubstr("stage 0 lasts 0"));
  const std::vector<double> two = {1.0, 2.0};
  EXPECT_THAT(error_of([&] { constant(1.0)->restore(two); }), HasSubstr("another schedule"));
  EXPECT_THAT(error_of([&] { plateau(1.0)->restore(two); }), HasSubstr("instead of 4"));
}

}  // namespace
}  // namespace thalweg::optim
