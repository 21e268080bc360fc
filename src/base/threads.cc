// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cgroup.h"
#include "thalweg/error.h"
#include "threads/threads.h"

namespace thalweg {

int available_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int count = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) count = std::max(1, CPU_COUNT(&mask));
  const double quota = cgroup_limits().processors;
  if (quota > 0) count = std::min(count, std::max(1, static_cast<int>(std::ceil(quota))));
  return count;
}

ThreadLease::ThreadLease(int threads) {
  constexpr int kMost = 1024;
  TW_REQUIRE(threads >= 1 && threads <= kMost, "cannot run with ", threads, " threads: at least 1, at most ", kMost);
  TW_REQUIRE(threads == 1 || !thalweg_threads_in_region(), "a program for ", threads,
             " threads cannot run inside a parallel region: compile it for 1 thread, or call it from outside");
  const int problem = thalweg_threads_reserve(threads);
  TW_REQUIRE(problem == 0, "the system gives no further thread (", std::generic_category().message(problem),
             "): ", threads, " are asked for; ask for fewer, or raise the limits of processes and memory");
  thalweg_threads_use(threads);
}

ThreadLease::~ThreadLease() { thalweg_threads_release(); }

FewerThreads::FewerThreads(int threads) : before_(thalweg_threads_used()) { thalweg_threads_use(threads); }

FewerThreads::~FewerThreads() { thalweg_threads_use(before_); }

void run_on_threads(int threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;  // joined at the end of the block, whatever happens in it
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back(guarded);
    } catch (const std::system_error&) {  // a limit of processes: those that are there do it all
    }
    guarded();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace thalweg
