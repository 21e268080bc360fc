// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/rate_finder.h"

#include "engine_calls.h"
#include "thalweg/fit_data.h"
#include "tools.h"
#include "training.h"

namespace thalweg::python {
namespace {

/// Ends the search after the step during which Ctrl-C came.
class SignalCheck : public Callback {
 public:
  void on_step(const TrainState& /*state*/) override { raise_signals(); }
  void on_wait() override { raise_signals(); }
};

RateCurve find(Model& model, nb::handle loss, nb::handle optimizer, const std::shared_ptr<data::Dataset>& train,
               std::optional<int64_t> batch_size, double lowest, double highest, int64_t steps) {
  const OptimizerChoice choice = optimizer_from(optimizer);
  const Loss build = loss_from(loss);
  const data::DatasetPtr samples = fit_target(train, model.graph(), build);
  RateFinderOptions finder;
  finder.lowest = lowest;
  finder.highest = highest;
  finder.steps = steps;
  TrainOptions options;
  options.batch_size = batch_size.value_or(options.batch_size);
  options.callbacks.push_back(std::make_shared<SignalCheck>());
  return call_engine([&] {
    return find_learning_rate(model, build, optim::make_optimizer(choice.name, choice.options), *samples, options,
                              finder);
  });
}

}  // namespace

void bind_rate_finder(nb::module_& module) {
  nb::class_<RateCurve>(module, "RateCurve", "What the loss did as the learning rate grew.")
      .def_ro("rates", &RateCurve::rates)
      .def_ro("losses", &RateCurve::losses, "Smoothed.")
      .def_ro("suggestion", &RateCurve::suggestion, "Where the loss falls fastest: a good rate to begin with.");
  const RateFinderOptions usual;
  module.def(
      "find_learning_rate", find, "model"_a, "loss"_a.none(), "optimizer"_a.none(), "train"_a, nb::kw_only(),
      "batch_size"_a = nb::none(), "lowest"_a = usual.lowest, "highest"_a = usual.highest, "steps"_a = usual.steps,
      "Trains for a while with a learning rate that grows with every step, then gives the model its weights back.");
}

}  // namespace thalweg::python
