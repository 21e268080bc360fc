// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The entry points. Those that begin with __wrap_ are what `ld --wrap` makes of the calls that the compiler puts in for
// `#pragma omp` and of omp_get_thread_num and the like; cmake/OneDnnThreads.cmake renames those of oneDNN's library
// alike. What they promise is what the compiler expects of libgomp.
#include "threads/helpers.h"
#include "threads/spin.h"
#include "threads/threads.h"

using thalweg::threads::current;

extern "C" {

void __wrap_GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void __wrap_GOMP_barrier();
int __wrap_omp_get_thread_num();
int __wrap_omp_get_num_threads();
int __wrap_omp_get_max_threads();
int __wrap_omp_in_parallel();
void __wrap_omp_set_num_threads(int threads);

void __wrap_GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  thalweg::threads::run_region(body, data, threads > 0 ? static_cast<int>(threads) : thalweg_threads_used());
}

void __wrap_GOMP_barrier() {
  if (current.size > 1) current.team->barrier();
}

int __wrap_omp_get_thread_num() { return current.number; }
int __wrap_omp_get_num_threads() { return current.size; }
int __wrap_omp_get_max_threads() { return thalweg_threads_used(); }
int __wrap_omp_in_parallel() { return current.team != nullptr ? 1 : 0; }
void __wrap_omp_set_num_threads(int threads) { thalweg_threads_use(threads); }

void thalweg_threads_use(int threads) { current.asked = threads; }
int thalweg_threads_used() { return current.asked > 0 ? current.asked : thalweg::threads::processors(); }
bool thalweg_threads_in_region() { return current.team != nullptr; }

int thalweg_threads_reserve(int threads) {
  const int problem = thalweg::threads::borrow_helpers(threads - 1);
  if (problem != 0) return problem;
  ++current.reservations;
  if (threads > current.engaged) {
    thalweg::threads::count_engaged(threads - current.engaged);
    current.engaged = threads;
  }
  return 0;
}

void thalweg_threads_release() {
  if (--current.reservations > 0) return;
  thalweg::threads::count_engaged(-current.engaged);
  current.engaged = 0;
  thalweg::threads::return_helpers();
}

int thalweg_threads_started() { return thalweg::threads::num_helpers(); }
bool thalweg_threads_scarce() { return thalweg::threads::processors_are_scarce(); }
}
