// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/caught_signals.h"

#include <csignal>

namespace thalweg::cli {
namespace {

void remember_signal(int number) { caught_signal.store(number); }
void remember_pause(int /*number*/) { caught_pause.store(true); }

}  // namespace

std::atomic<int> caught_signal{0};
std::atomic<bool> caught_pause{false};

void catch_signals() {
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
  std::signal(SIGTSTP, remember_pause);
  // nohup has it ignored.
  if (std::signal(SIGHUP, remember_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace thalweg::cli
