// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/warning.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace thalweg {
namespace {

struct State {
  std::mutex mutex;
  WarningHandler handler = [](const std::string& text) {
    std::fprintf(stderr, "thalweg: warning: %s\n", text.c_str());
  };
  std::set<std::string> said;
};

/// Never destroyed: other threads may warn while the process ends.
State& state() {
  static auto* const only = new State;
  return *only;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return std::exchange(state().handler, std::move(handler));
}

void warn_once(const std::string& text) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  if (state().said.insert(text).second && state().handler) state().handler(text);
}

}  // namespace thalweg
