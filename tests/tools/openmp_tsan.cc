// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer what libgomp, which is not instrumented, does: that a parallel region begins after what
// its caller did, that all of it ends before the caller goes on, and that a barrier orders what lies before and after
// it. Linked into the library of the tsan preset, where these functions take the place of libgomp's and call them.
// Races between the threads of a region are then found as any others, and nothing else of OpenMP is taken for one.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

namespace {

using Body = void (*)(void*);

/// Of the members, only the addresses of the last three matter: they stand for what is waited for.
struct Region {
  Body body;
  void* data;
  char fork, join, barrier;
};

thread_local Region* current_region = nullptr;

void run_member(void* argument) {
  auto* region = static_cast<Region*>(argument);
  __tsan_acquire(&region->fork);
  Region* const outer = current_region;
  current_region = region;
  region->body(region->data);
  current_region = outer;
  __tsan_release(&region->join);
}

template <typename Function>
Function* in_libgomp(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  static auto* const original = in_libgomp<void(Body, void*, unsigned, unsigned)>("GOMP_parallel");
  Region region{body, data, 0, 0, 0};
  __tsan_release(&region.fork);
  original(run_member, &region, threads, flags);
  __tsan_acquire(&region.join);
}

__attribute__((visibility("default"))) void GOMP_barrier() {
  static auto* const original = in_libgomp<void()>("GOMP_barrier");
  if (current_region != nullptr) __tsan_release(&current_region->barrier);
  original();
  if (current_region != nullptr) __tsan_acquire(&current_region->barrier);
}

}  // extern "C"
