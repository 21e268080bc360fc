// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings.h"
#include "thalweg/train.h"

namespace thalweg::python {

/// A Python object that threads of the engine may let go of.
template <typename T = nb::object>
std::shared_ptr<T> shared_with_engine(T object) {
  return std::shared_ptr<T>(new T(std::move(object)), [](T* held) {
    const nb::gil_scoped_acquire gil;
    delete held;
  });
}

/// thalweg.optim.adam(...): an optimiser to be made for each trainer.
struct OptimizerChoice {
  std::string name;
  std::map<std::string, double> options;
  /// Nothing: the optimiser's own.
  std::optional<double> learning_rate;
};
/// From a choice, a name, or None for the usual one.
OptimizerChoice optimizer_from(nb::handle given);

/// thalweg.metrics.accuracy(): as the optimiser.
struct MetricChoice {
  std::string name;
  std::map<std::string, double> options;
};
MetricChoice metric_from(nb::handle given);

/// From a name, None for the usual one, or a function of values: of the model's output and the target, or of lists if
/// there are several.
Loss loss_from(nb::handle given);
/// Of one that goes by name, is a function of thalweg.losses or an object of thalweg.nn that calls one; "" of others.
std::string loss_name(nb::handle given);

void bind_losses(nb::module_& module);
void bind_optimizers(nb::module_& module);
void bind_schedules(nb::module_& module);
void bind_metrics(nb::module_& module);
void bind_datasets(nb::module_& module);
/// Into thalweg.data.
void bind_images(nb::module_& data);
void bind_texts(nb::module_& data);
void bind_features(nb::module_& data);
void bind_resampled(nb::module_& data);
void bind_callbacks(nb::module_& module);
void bind_groups(nb::module_& module);
void bind_trainer(nb::module_& module);

}  // namespace thalweg::python
