// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

/// libthalweg_threads: the threads of the engine. They run the parallel regions of our own code (`#pragma omp
/// parallel`) and those of oneDNN, in place of libgomp: the linker (our code) and patchelf (oneDNN's library) rename
/// the few entry points that both need, see openmp.cc. So another OpenMP runtime in the process is neither used nor
/// disturbed.
///
/// There is one pool for the process. A thread that opens a region borrows from it; regions of several threads may run
/// side by side. Idle threads spin for a tenth of a millisecond, then sleep.
extern "C" {

/// From here on, regions of the calling thread that do not say how many threads they want have so many.
void thalweg_threads_use(int threads);
/// That number: by default the processors that the process may use.
int thalweg_threads_used();

/// True inside of a region that has several threads. Regions in there have one.
bool thalweg_threads_in_region();

/// Until the calling thread releases it, its regions of up to `threads` threads are certain to get them. Gives 0, or
/// the errno that tells why the system gives no further thread; then nothing is reserved. Reservations nest.
int thalweg_threads_reserve(int threads);
void thalweg_threads_release();

/// How many threads were started, for tests.
int thalweg_threads_started();
/// True while idle threads spin less because processors are scarce, for tests.
bool thalweg_threads_scarce();
}
