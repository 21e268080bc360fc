// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings.h"
#include "graph_policy.h"
#include "thalweg/ops.h"

namespace thalweg::python {

/// Binds a builder that returns values.
template <typename Function, typename... Extra>
void def_op(nb::module_& module, const char* name, Function function, const Extra&... extra) {
  module.def(name, function, extra..., nb::rv_policy::reference, nb::call_policy<KeepGraph>());
}

/// Sizes as Python gives them: None is a free dimension.
using Sizes = std::vector<std::optional<int64_t>>;
/// None keeps the free dimension at its place, or takes what is left if there is none; 0 and -1 are as in ops::reshape.
Value* reshaped(Value* x, const Sizes& sizes);

void bind_elementwise_ops(nb::module_& ops);
void bind_shape_ops(nb::module_& ops);
void bind_detection_ops(nb::module_& ops);
void bind_layer_ops(nb::module_& ops);
void bind_quantized_ops(nb::module_& ops);
/// Operators and methods of values.
void bind_value_methods(nb::module_& module);

}  // namespace thalweg::python
