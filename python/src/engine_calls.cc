// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "engine_calls.h"

#include <pthread.h>

#include <atomic>

namespace thalweg::python {
namespace {

/// How many forks lie between this process and the one that loaded the module.
std::atomic<int> forks{0};

const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

bool is_copied_thread() {
  thread_local const int born_after = forks.load();
  return born_after != forks.load();
}

}  // namespace thalweg::python
