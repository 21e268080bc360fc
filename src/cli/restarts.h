// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace thalweg::cli {

/// How a worker failed.
struct WorkerFailure {
  /// Of waitpid.
  int status = 0;
  /// It had come to the group's rendezvous.
  bool joined = false;
  std::chrono::steady_clock::duration lasted{};
  /// Of the group, the last that the worker took part in.
  uint64_t epoch = 0;
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

/// Tells errors that every attempt meets, such as a bad file among the data, from those that another attempt gets past.
/// Attempts follow each other when a worker is started, or the group forms, after the last failure: workers that fail
/// together have made one. Being killed by a signal is nobody's error, and failures before a worker has joined the
/// group are those of that worker (RestartHistory).
class FutileAttempts {
 public:
  /// The group has come to this step.
  void note_step(int64_t step) { furthest_ = std::max(furthest_, step); }
  int64_t furthest_step() const { return furthest_; }
  /// True if so many attempts in a row have failed, without the group having come further than ever before, that
  /// another one is not worth while.
  bool after_failure(const WorkerFailure& failure, std::chrono::steady_clock::time_point now);
  /// In a row.
  int count() const { return count_; }

 private:
  bool has_come_further(const WorkerFailure& failure) const;

  int64_t furthest_ = 0;
  /// At the last failure that counted.
  int64_t step_ = 0;
  uint64_t epoch_ = 0;
  std::chrono::steady_clock::time_point when_;
  int count_ = 0;
};

}  // namespace thalweg::cli
