// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/schedules.h"

#include "training.h"

namespace thalweg::python {
namespace {

void bind_plateau(nb::module_& m) {
  const optim::PlateauOptions usual;
  m.def(
      "plateau",
      [](double rate, double factor, int64_t patience, bool higher_is_better, double threshold, bool relative_threshold,
         int64_t cooldown, double lowest) {
        return optim::plateau(rate,
                              {factor, patience, higher_is_better, threshold, relative_threshold, cooldown, lowest});
      },
      "rate"_a, nb::kw_only(), "factor"_a = usual.factor, "patience"_a = usual.patience,
      "higher_is_better"_a = usual.higher_is_better, "threshold"_a = usual.threshold,
      "relative_threshold"_a = usual.relative_threshold, "cooldown"_a = usual.cooldown, "lowest"_a = usual.lowest,
      "Times factor when the score stops improving.");
}

void bind_one_cycle(nb::module_& m) {
  const optim::OneCycleOptions usual;
  m.def(
      "one_cycle",
      [](double highest, int64_t iterations, double warm_up_share, double initial_divisor, double final_divisor,
         bool linear) {
        return optim::one_cycle(highest, iterations, {warm_up_share, initial_divisor, final_divisor, linear});
      },
      "highest"_a, "iterations"_a, nb::kw_only(), "warm_up_share"_a = usual.warm_up_share,
      "initial_divisor"_a = usual.initial_divisor, "final_divisor"_a = usual.final_divisor, "linear"_a = usual.linear,
      "Up to the highest rate, then down to next to nothing.");
}

}  // namespace

void bind_schedules(nb::module_& module) {
  auto m = module.def_submodule("schedules", "The learning rate over a run, for Trainer(schedule=...).");
  nb::class_<optim::Schedule>(m, "Schedule", "The learning rate as a function of the steps taken.");
  m.def("constant", optim::constant, "rate"_a);
  m.def("poly", optim::poly, "rate"_a, "iterations"_a, "power"_a);
  m.def("step", optim::step, "rate"_a, "interval"_a, "gamma"_a, "Times gamma every `interval` iterations.");
  m.def("multistep", optim::multistep, "rate"_a, "milestones"_a, "gamma"_a);
  m.def("epoch_step", optim::epoch_step, "rate"_a, "interval"_a, "gamma"_a);
  m.def("exponential", optim::exponential, "rate"_a, "interval"_a, "decay"_a, "staircase"_a = false);
  m.def(
      "cosine",
      [](double rate, int64_t iterations, std::optional<double> lowest) {
        return lowest ? optim::cosine(rate, iterations, *lowest) : optim::cosine(rate, iterations);
      },
      "rate"_a, "iterations"_a, "lowest"_a = nb::none());
  m.def("warm_up", optim::warm_up, "start"_a, "end"_a, "iterations"_a);
  m.def(
      "sequential",
      [](const std::vector<std::pair<optim::SchedulePtr, int64_t>>& stages) {
        std::vector<optim::Stage> all;
        for (const auto& [schedule, iterations] : stages) all.push_back({schedule, iterations});
        return optim::sequential(std::move(all));
      },
      "stages"_a, "Pairs of a schedule and how many iterations it is in force.");
  bind_plateau(m);
  bind_one_cycle(m);
}

}  // namespace thalweg::python
