// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace thalweg {

/// Processors this process may use: the affinity mask, cut by the CPU quota of the control group (v1 or v2); at
/// least 1. OMP_NUM_THREADS is not consulted: Spark sets it to a task's share without being asked.
int available_processors();

/// Sets how many threads the calling thread's parallel regions have from here on (those of oneDNN and those of
/// `#pragma omp` without num_threads), and, while it lives, sees to it that this many are there: threads of oneDNN's
/// kernels wait for each other. Throws if the system does not give them. Leases of one thread nest.
class ThreadLease {
 public:
  explicit ThreadLease(int threads);
  ~ThreadLease();
  ThreadLease(const ThreadLease&) = delete;
  ThreadLease& operator=(const ThreadLease&) = delete;
};

/// While it lives, the calling thread's regions have fewer threads than those that are leased.
class FewerThreads {
 public:
  explicit FewerThreads(int threads);
  ~FewerThreads();
  FewerThreads(const FewerThreads&) = delete;
  FewerThreads& operator=(const FewerThreads&) = delete;

 private:
  int before_;
};

/// Calls `work` on up to `threads` threads at once, of which the calling one is the first, and returns when all calls
/// have; on fewer if the system gives no more. Throws what the first call that failed threw.
void run_on_threads(int threads, const std::function<void()>& work);

}  // namespace thalweg
