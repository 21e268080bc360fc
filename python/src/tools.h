// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings.h"

namespace thalweg::python {

void bind_optimize(nb::module_& module);
void bind_rate_finder(nb::module_& module);
void bind_vision(nb::module_& module);
/// Into thalweg.data.
void bind_object_pictures(nb::module_& data);

}  // namespace thalweg::python
