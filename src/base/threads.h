// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace thalweg {

/// Processors this process may use: the affinity mask, cut by the CPU quota of the control group (v1 or v2). At
/// least 1, and no more than OMP_THREAD_LIMIT. OMP_NUM_THREADS is not consulted: Spark sets it to a task's share
/// without being asked.
int available_processors();

/// From here on the calling thread's OpenMP regions have `threads` threads. Throws if the OpenMP runtime would give it
/// fewer: oneDNN's kernels wait for each other and would wait forever.
void use_threads(int threads);

/// Calls `work` on up to `threads` threads at once, of which the calling one is the first, and returns when all calls
/// have; on fewer if the system gives no more. Throws what the first call that failed threw.
void run_on_threads(int threads, const std::function<void()>& work);

}  // namespace thalweg
