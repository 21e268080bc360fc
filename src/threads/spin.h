// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <emmintrin.h>

#include <cstdint>

namespace thalweg::threads {

/// A wait without sleep. It is short, because whoever spins takes a processor from others, and far shorter where others
/// want the processors: there the thread that is waited for may be the one that needs it.
class Spin {
 public:
  /// Pauses for a moment; false when it is time to sleep.
  bool goes_on() {
    _mm_pause();
    return ++pauses_ % kPausesPerLook != 0 || look_at_clock();
  }

 private:
  /// To look at the clock costs as much as one pause or two.
  static constexpr unsigned kPausesPerLook = 16;
  bool look_at_clock();

  unsigned pauses_ = 0;
  int64_t begin_ = 0, last_ = 0;  ///< in nanoseconds; 0 before the first look
};

/// Notes that a thread of the engine did not get the processor that it wanted: for a while all spin less.
void note_contention();

/// True while processors are scarce: somebody noted so lately, or the engine itself has more threads at work than the
/// process has processors.
bool processors_are_scarce();

/// To be told of the threads that callers have reserved (negative: given back).
void count_engaged(int threads);

/// Forgets what concerned the threads of the parent; `engaged` are those of the one that the fork has copied.
void reset_contention(int engaged);

/// Processors that the process could run on when the library was loaded.
int processors();

}  // namespace thalweg::threads
