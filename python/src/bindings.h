// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casters.h"

/// What the module is made of, a function for each subject.
namespace thalweg::python {

using namespace nb::literals;

void bind_errors(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_ops(nb::module_& module);
void bind_nn(nb::module_& module);
void bind_model(nb::module_& module);
void bind_predictor(nb::module_& module);
void bind_gradient_function(nb::module_& module);
void bind_model_building(nb::module_& module);

}  // namespace thalweg::python
