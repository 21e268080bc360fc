// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "thalweg/error.h"

// The schedules that are functions of the progress alone; those with state are in plateau.cc and sequential.cc.

namespace thalweg::optim {
namespace {

class Formula : public Schedule {
 public:
  explicit Formula(std::function<double(const Progress&)> rate) : rate_(std::move(rate)) {}
  double learning_rate(const Progress& progress) const override { return rate_(progress); }

 private:
  std::function<double(const Progress&)> rate_;
};

SchedulePtr formula(std::function<double(const Progress&)> rate) { return std::make_shared<Formula>(std::move(rate)); }

void require_rate(const char* schedule, double rate) {
  TW_REQUIRE(rate >= 0.0 && std::isfinite(rate), "schedule ", schedule, ": the learning rate is ", rate);
}

void require_count(const char* schedule, const char* what, int64_t count) {
  TW_REQUIRE(count > 0, "schedule ", schedule, ": ", what, " is ", count, ", must be positive");
}

/// 1 at 0, 0 at 1.
double half_cosine(double share) { return 0.5 * (1.0 + std::cos(std::numbers::pi * share)); }

double whole_intervals(int64_t count, int64_t interval) {
  const int64_t whole = count / interval;
  return static_cast<double>(whole);
}

double share_of(int64_t iteration, int64_t iterations) {
  return static_cast<double>(std::min(iteration, iterations)) / static_cast<double>(iterations);
}

}  // namespace

void Schedule::restore(std::span<const double> state) {
  TW_REQUIRE(state.empty(), "schedule: a checkpoint holds ", state.size(),
             " values for a schedule that has none; it is from another schedule");
}

SchedulePtr constant(double rate) {
  require_rate("constant", rate);
  return formula([=](const Progress&) { return rate; });
}

SchedulePtr poly(double rate, int64_t iterations, double power) {
  require_rate("poly", rate);
  require_count("poly", "iterations", iterations);
  return formula(
      [=](const Progress& progress) { return rate * std::pow(1.0 - share_of(progress.iteration, iterations), power); });
}

SchedulePtr step(double rate, int64_t interval, double gamma) {
  require_rate("step", rate);
  require_count("step", "interval", interval);
  return formula(
      [=](const Progress& progress) { return rate * std::pow(gamma, whole_intervals(progress.iteration, interval)); });
}

SchedulePtr multistep(double rate, std::vector<int64_t> milestones, double gamma) {
  require_rate("multistep", rate);
  TW_REQUIRE(std::is_sorted(milestones.begin(), milestones.end()), "schedule multistep: the milestones do not ascend");
  return formula([=, milestones = std::move(milestones)](const Progress& progress) {
    const auto passed = std::upper_bound(milestones.begin(), milestones.end(), progress.iteration) - milestones.begin();
    return rate * std::pow(gamma, static_cast<double>(passed));
  });
}

SchedulePtr epoch_step(double rate, int64_t interval, double gamma) {
  require_rate("epoch_step", rate);
  require_count("epoch_step", "interval", interval);
  return formula(
      [=](const Progress& progress) { return rate * std::pow(gamma, whole_intervals(progress.epoch, interval)); });
}

SchedulePtr epoch_decay(double rate, std::function<double(int64_t epoch)> exponent) {
  require_rate("epoch_decay", rate);
  TW_REQUIRE(exponent != nullptr, "schedule epoch_decay: no function for the exponent");
  return formula([=, exponent = std::move(exponent)](const Progress& progress) {
    return rate * std::pow(0.1, exponent(progress.epoch));
  });
}

SchedulePtr exponential(double rate, int64_t interval, double decay, bool staircase) {
  require_rate("exponential", rate);
  require_count("exponential", "interval", interval);
  return formula([=](const Progress& progress) {
    const double intervals = static_cast<double>(progress.iteration) / static_cast<double>(interval);
    return rate * std::pow(decay, staircase ? std::floor(intervals) : intervals);
  });
}

SchedulePtr natural_exponential(double rate, int64_t interval, double gamma) {
  require_rate("natural_exponential", rate);
  require_count("natural_exponential", "interval", interval);
  return formula([=](const Progress& progress) {
    return rate * std::exp(-gamma * whole_intervals(progress.iteration, interval));
  });
}

SchedulePtr cosine(double rate, int64_t iterations, double lowest) {
  require_rate("cosine", rate);
  require_rate("cosine", lowest);
  require_count("cosine", "iterations", iterations);
  return formula([=](const Progress& progress) {
    return lowest + (rate - lowest) * half_cosine(share_of(progress.iteration, iterations));
  });
}

SchedulePtr warm_up(double from, double to, int64_t iterations) {
  require_rate("warm_up", from);
  require_rate("warm_up", to);
  require_count("warm_up", "iterations", iterations);
  return formula(
      [=](const Progress& progress) { return from + (to - from) * share_of(progress.iteration, iterations); });
}

SchedulePtr one_cycle(double highest, int64_t iterations, const OneCycleOptions& options) {
  require_rate("one_cycle", highest);
  const double peak = options.warm_up_share * static_cast<double>(iterations) - 1.0;
  const double end = static_cast<double>(iterations) - 1.0;
  TW_REQUIRE(peak > 0.0 && peak < end, "schedule one_cycle: ", options.warm_up_share, " of ", iterations,
             " iterations leaves no room to rise and fall");
  TW_REQUIRE(options.initial_divisor > 0.0 && options.final_divisor > 0.0,
             "schedule one_cycle: the divisors must be positive");
  const double initial = highest / options.initial_divisor;
  const double last = initial / options.final_divisor;
  const bool linear = options.linear;
  return formula([=](const Progress& progress) {
    const double at = std::min(static_cast<double>(progress.iteration), end);
    const bool rising = at <= peak;
    const double share = rising ? at / peak : (at - peak) / (end - peak);
    const double from = rising ? initial : highest;
    const double to = rising ? highest : last;
    return to + (from - to) * (linear ? 1.0 - share : half_cosine(share));
  });
}

}  // namespace thalweg::optim
