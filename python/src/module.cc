// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bindings.h"
#include "tools.h"
#include "training.h"

NB_MODULE(_core, module) {
  using namespace thalweg::python;
  module.doc() = "The engine behind the package thalweg.";
  module.attr("__version__") = TW_VERSION;
  bind_errors(module);
  bind_graph(module);
  bind_ops(module);
  bind_nn(module);
  bind_model_building(module);
  bind_model(module);
  bind_predictor(module);
  bind_gradient_function(module);
  bind_losses(module);
  bind_optimizers(module);
  bind_schedules(module);
  bind_metrics(module);
  bind_datasets(module);
  auto data = nanobind::borrow<nanobind::module_>(module.attr("data"));
  bind_resampled(data);
  bind_callbacks(module);
  bind_groups(module);
  bind_trainer(module);
  bind_rate_finder(module);
  bind_optimize(module);
  bind_vision(module);
  bind_object_pictures(data);
}
