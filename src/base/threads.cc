// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <omp.h>
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

namespace thalweg {

int available_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int count = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) count = std::max(1, CPU_COUNT(&mask));
  const double quota = cgroup_limits().processors;
  if (quota > 0) count = std::min(count, std::max(1, static_cast<int>(std::ceil(quota))));
  return std::min(count, omp_get_thread_limit());
}

void use_threads(int threads) {
  // Where threads cannot be made, libgomp ends the process.
  constexpr int kMost = 1024;
  TW_REQUIRE(threads >= 1 && threads <= kMost, "cannot run with ", threads, " threads: at least 1, at most ", kMost);
  TW_REQUIRE(threads <= omp_get_thread_limit(), threads, " threads are asked for, but OMP_THREAD_LIMIT allows ",
             omp_get_thread_limit());
  TW_REQUIRE(threads == 1 || omp_get_active_level() < omp_get_max_active_levels(), "a program for ", threads,
             " threads cannot run inside an OpenMP parallel region: compile it for 1 thread, or call it from outside");
  // The runtime may otherwise give fewer on a busy machine.
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

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
