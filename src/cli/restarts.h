// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace thalweg::cli {

/// How a worker failed.
struct WorkerFailure {
  /// Of waitpid.
  int status = 0;
  /// It had come to the group's rendezvous.
  bool joined = false;
  std::chrono::steady_clock::duration lasted{};
};

struct RestartDecision {
  bool again = false;
  std::chrono::milliseconds delay{0};
  /// What will be done, and why.
  std::string text;
};

/// The failures of one worker, and what follows from them: one that was killed is started again at once, one that fails
/// again and again after ever longer pauses, and one that cannot do better not at all.
class RestartHistory {
 public:
  RestartDecision after_failure(const WorkerFailure& failure);

 private:
  /// In a row.
  int quick_ = 0;
  int never_joined_ = 0;
};

}  // namespace thalweg::cli
