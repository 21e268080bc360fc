// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/restarts.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"

namespace thalweg::cli {
namespace {

/// A failure is one of a row if the worker had not run for so long.
constexpr std::chrono::seconds kQuick{10};
constexpr std::chrono::milliseconds kFirstPause{250}, kLongestPause{10'000};
/// So many failures in a row before it has come to the group: its program, its arguments or its data are at fault.
constexpr int kMostFailuresBeforeJoining = 3;
constexpr int kMostFutileAttempts = 3;
/// Of programs that tell no steps it is taken for progress to run for so long.
constexpr std::chrono::minutes kLongForNoSteps{1};

}  // namespace

RestartDecision RestartHistory::after_failure(const WorkerFailure& failure) {
  if (WIFEXITED(failure.status) && WEXITSTATUS(failure.status) == kWrongUsage) {
    return {.text = "that is wrong usage, which starting it again would not change"};
  }
  never_joined_ = failure.joined ? 0 : never_joined_ + 1;
  if (never_joined_ >= kMostFailuresBeforeJoining) {
    return {.text = "it has failed " + std::to_string(never_joined_) +
                    " times in a row before it joined the group, and is not started again"};
  }
  quick_ = failure.lasted < kQuick ? quick_ + 1 : 0;
  if (quick_ < 2) return {.again = true, .text = "starting it again"};
  const int doublings = std::min(quick_ - 2, 10);
  const auto delay = std::min(kFirstPause * (1 << doublings), kLongestPause);
  char text[64];
  std::snprintf(text, sizeof text, "starting it again in %g s", std::chrono::duration<double>(delay).count());
  return {true, delay, text};
}

bool FutileAttempts::has_come_further(const WorkerFailure& failure) const {
  if (furthest_ == 0) return failure.lasted >= kLongForNoSteps;
  return furthest_ > step_;
}

bool FutileAttempts::after_failure(const WorkerFailure& failure, std::chrono::steady_clock::time_point now) {
  if (WIFSIGNALED(failure.status)) {
    count_ = 0;
    return false;
  }
  if (!failure.joined) return false;
  const bool further = has_come_further(failure);
  const bool another = now - failure.lasted > when_ || failure.epoch > epoch_;
  if (count_ > 0 && !further && !another) return false;
  count_ = further ? 1 : count_ + 1;
  step_ = furthest_;
  epoch_ = failure.epoch;
  when_ = now;
  return count_ >= kMostFutileAttempts;
}

}  // namespace thalweg::cli
