// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <thread>

#include "casters.h"

namespace thalweg::python {

/// True on a thread that a fork has copied: the OpenMP runtime takes the threads of the parent's pool for its own and
/// would wait for them forever. A thread made afterwards has no pool yet.
bool is_copied_thread();

/// Calls the engine without holding the interpreter, on a thread of its own where this one cannot.
template <typename Call>
auto call_engine(const Call& call) {
  const nb::gil_scoped_release release;
  if (!is_copied_thread()) return call();
  std::exception_ptr failure;
  decltype(call()) result;
  std::thread([&] {
    try {
      result = call();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return result;
}

}  // namespace thalweg::python
