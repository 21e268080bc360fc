// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "casters.h"

/// Whatever may compute, and be it that it lays a weight out anew to read it, is called through here.
namespace thalweg::python {

/// True on a thread that a fork has copied: the OpenMP runtime takes the threads of the parent's pool for its own and
/// would wait for them forever. A thread made afterwards has no pool yet.
bool is_copied_thread();

/// Calls the engine without holding the interpreter, on a thread of its own where this one cannot. `meanwhile` is then
/// called now and then on this one: only Python's main thread can see signals. It must not throw.
template <typename Call>
auto call_engine(const Call& call, const std::function<void()>& meanwhile = {}) {
  constexpr std::chrono::milliseconds kPause{20};
  using Result = std::invoke_result_t<Call>;
  const nb::gil_scoped_release release;
  if (!is_copied_thread()) return call();
  std::packaged_task<Result()> task([&call]() -> Result { return call(); });
  std::future<Result> result = task.get_future();
  std::thread thread(std::move(task));
  while (meanwhile && result.wait_for(kPause) == std::future_status::timeout) meanwhile();
  thread.join();
  return result.get();
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
