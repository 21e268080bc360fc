// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "job/schedule.h"

#include <algorithm>
#include <cmath>

namespace thalweg::job {
namespace {

/// Where a schedule is told in epochs, whose number of iterations is known once the data is.
class ScheduleOfEpochs : public optim::Schedule {
 public:
  using Make = std::function<optim::SchedulePtr(int64_t iterations_per_epoch)>;
  explicit ScheduleOfEpochs(Make make) : make_(std::move(make)) {}

  double learning_rate(const optim::Progress& progress) const override {
    const int64_t iterations = std::max<int64_t>(1, progress.iterations_per_epoch);
    if (made_ == nullptr || iterations != made_for_) {
      made_ = make_(iterations);
      made_for_ = iterations;
    }
    return made_->learning_rate(progress);
  }

 private:
  Make make_;
  mutable optim::SchedulePtr made_;
  mutable int64_t made_for_ = 0;
};

struct Plan {
  std::string name;
  double rate = 0;
  double epochs = 0;
  double warm_up = 0;
  double every = 0;
  double gamma = 0;
  double power = 0;
  double lowest = 0;
};

int64_t iterations_of(double epochs, int64_t iterations_per_epoch) {
  return std::max<int64_t>(1, std::llround(epochs * static_cast<double>(iterations_per_epoch)));
}

/// After the warming up.
optim::SchedulePtr main_part(const Plan& plan, int64_t iterations_per_epoch) {
  const int64_t all = iterations_of(plan.epochs - plan.warm_up, iterations_per_epoch);
  if (plan.name == "cosine") return optim::cosine(plan.rate, all, plan.lowest);
  if (plan.name == "poly") return optim::poly(plan.rate, all, plan.power);
  if (plan.name == "one_cycle") return optim::one_cycle(plan.rate, all);
  if (plan.name == "step") return optim::step(plan.rate, iterations_of(plan.every, iterations_per_epoch), plan.gamma);
  if (plan.name == "exponential") {
    return optim::exponential(plan.rate, iterations_of(plan.every, iterations_per_epoch), plan.gamma);
  }
  return optim::constant(plan.rate);
}

optim::SchedulePtr make(const Plan& plan, int64_t iterations_per_epoch) {
  optim::SchedulePtr later = main_part(plan, iterations_per_epoch);
  if (plan.warm_up == 0) return later;
  const int64_t first = iterations_of(plan.warm_up, iterations_per_epoch);
  const double begin = plan.rate / static_cast<double>(first);  // 0 would waste a step
  return optim::sequential({{optim::warm_up(begin, plan.rate, first), first}, {later, 0}});
}

double not_negative(Settings& settings, const std::string& key, double fallback) {
  const double value = settings.number(key, fallback);
  if (!(value >= 0) || !std::isfinite(value)) settings.reject(key, " must be 0 or more");
  return value;
}

void refuse_unused(Settings& settings, const std::string& name, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (settings.has(key)) settings.reject(key, " means nothing to the schedule " + name);
  }
}

}  // namespace

optim::SchedulePtr read_schedule(Settings& settings, double rate, int64_t epochs) {
  const std::vector<std::string> names = {"constant", "cosine", "poly", "step", "exponential", "one_cycle"};
  Plan plan;
  plan.name = names[settings.choice("schedule.name", names, 0)];
  plan.rate = rate;
  plan.epochs = static_cast<double>(epochs);
  plan.warm_up = not_negative(settings, "schedule.warm_up", 0);
  const bool in_steps = plan.name == "step" || plan.name == "exponential";
  if (in_steps) {
    plan.every = not_negative(settings, "schedule.every", 1);
    plan.gamma = not_negative(settings, "schedule.gamma", 0.1);
  } else {
    refuse_unused(settings, plan.name, {"schedule.every", "schedule.gamma"});
  }
  if (plan.name == "poly") plan.power = not_negative(settings, "schedule.power", 1);
  if (plan.name != "poly") refuse_unused(settings, plan.name, {"schedule.power"});
  if (plan.name == "cosine") plan.lowest = not_negative(settings, "schedule.lowest", 0);
  if (plan.name != "cosine") refuse_unused(settings, plan.name, {"schedule.lowest"});
  if (plan.name == "one_cycle" && plan.warm_up > 0) refuse_unused(settings, plan.name, {"schedule.warm_up"});
  if (plan.warm_up > 0 && plan.warm_up >= plan.epochs) {
    settings.reject("schedule.warm_up", " takes all " + std::to_string(epochs) + " epochs of the run");
  }
  if (plan.name == "constant" && plan.warm_up == 0) return nullptr;
  return std::make_shared<ScheduleOfEpochs>([plan](int64_t iterations) { return make(plan, iterations); });
}

}  // namespace thalweg::job
