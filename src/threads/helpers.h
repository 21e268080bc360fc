// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "threads/team.h"

namespace thalweg::threads {

/// A thread of the pool. It lives as long as the process; so does this object.
class Helper {
 public:
  /// Starts the thread; null if the system gives none, with the reason in `problem` (an errno).
  static Helper* start(int& problem);

  /// By the thread that borrowed it: the helper is to run part `number` of `team`.
  void offer(Team& team, int number);
  /// By the same: true if the helper has not begun, and will not.
  bool take_back();

  Helper* next = nullptr;  ///< in the list of whoever has it: the pool or a borrower

 private:
  static void* main(void* self);
  void wait_for_offer();

  /// Offers begin and end in the hands of the borrower but for kTaken, which ends when the part has ended.
  enum State : uint32_t { kAwake, kAsleep, kOffered, kTaken };
  FutexWord state_{kAwake};
  Team* team_ = nullptr;
  int number_ = 0;
};

/// Has the calling thread borrow from the pool until it has `count` helpers. Gives 0, or why the system gives no
/// further thread (an errno); then the caller has what it had before.
int borrow_helpers(int count);

/// Gives all helpers of the calling thread back.
void return_helpers();

/// Threads that the pool has started.
int num_helpers();

}  // namespace thalweg::threads
