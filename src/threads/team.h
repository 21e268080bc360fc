// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "threads/futex.h"

namespace thalweg::threads {

/// A parallel region: `body(data)` runs `size` times, each time under another number, on as many threads as come.
///
/// Parts may wait for each other in any way (oneDNN's kernels do so with loops of their own). That is why a team has as
/// many threads as parts: of those that the caller has borrowed, each is offered one number, and each will come for it
/// sooner or later, so a part that waits is never the last one that somebody could run. But once its own part has
/// ended, the caller takes the numbers back whose threads have not come yet, and runs these parts itself, one after the
/// other. A part that it so runs cannot wait for one that has ended, and those of others still have their threads.
class Team {
 public:
  using Body = void (*)(void*);

  Team(Body body, void* data, int size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  /// Runs the part `number` on the calling thread.
  void run_part(int number);
  /// A thread that was lent to the team has run its part. The team may be gone afterwards.
  void part_ended();
  /// Waits until all parts but `own` have ended.
  void wait_for_others(int own);
  /// Waits until all parts have come here.
  void barrier();

 private:
  const Body body_;
  void* const data_;
  const int size_;
  const int asked_;         ///< what the caller's regions have where they do not say how many threads they want
  const unsigned control_;  ///< how the caller's processor rounds and treats small numbers (MXCSR)

  static constexpr uint32_t kSleeps = 1U << 31U;
  /// Parts that other threads may still be running; with kSleeps if the caller sleeps until there are none.
  alignas(64) FutexWord running_;
  alignas(64) FutexWord at_barrier_{0};
  FutexWord barriers_passed_{0};
  std::atomic<uint32_t> sleepers_{0};
};

class Helper;

/// What a thread is doing for or by means of this library.
struct Current {
  Team* team = nullptr;       ///< of the innermost region that has several threads
  int number = 0;             ///< in the innermost region
  int size = 1;               ///< of the innermost region
  int asked = 0;              ///< how many threads regions have that do not say it; 0: as many as there are processors
  Helper* helpers = nullptr;  ///< borrowed from the pool
  int num_helpers = 0;
  int reservations = 0;  ///< while there are any, helpers are kept
  int engaged = 0;       ///< what was told to count_engaged
};

/// Compiled as initial-exec: it is read in every region, and small enough for the room that every process has left.
extern constinit thread_local Current current;

/// Runs `body(data)` under the numbers 0 ... threads - 1 and returns when all have ended. Inside of a region, or with
/// one thread, the caller runs it alone, under number 0 of 1.
void run_region(Team::Body body, void* data, int threads);

}  // namespace thalweg::threads
