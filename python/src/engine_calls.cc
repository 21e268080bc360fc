// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "engine_calls.h"

#include <pthread.h>

namespace thalweg::python {
namespace {

thread_local bool is_copied = false;

// It runs on the only thread that the new process has: the copy of the one that forked.
const int registered = pthread_atfork(nullptr, nullptr, [] { is_copied = true; });

}  // namespace

bool is_copied_thread() { return is_copied; }

void raise_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace thalweg::python
