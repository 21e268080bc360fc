// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "engine_calls.h"

namespace thalweg::python {

void raise_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace thalweg::python
