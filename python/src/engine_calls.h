// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casters.h"

/// Whatever may compute, and be it that it lays a weight out anew to read it, is called through here.
namespace thalweg::python {

/// Calls the engine without holding the interpreter.
template <typename Call>
auto call_engine(const Call& call) {
  const nb::gil_scoped_release release;
  return call();
}

/// For a thread that does not hold the interpreter: throws what the handler of a signal that has come raises. On others
/// than Python's main thread nothing happens.
void raise_signals();

/// A method of the engine, to be bound, that is called so.
template <typename Result, typename Type, typename... Args>
auto through_engine(Result (Type::*method)(Args...)) {
  return
      [method](Type& self, Args... args) { return call_engine([&]() -> Result { return (self.*method)(args...); }); };
}
template <typename Result, typename Type, typename... Args>
auto through_engine(Result (Type::*method)(Args...) const) {
  return [method](const Type& self, Args... args) {
    return call_engine([&]() -> Result { return (self.*method)(args...); });
  };
}

}  // namespace thalweg::python
