// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thalweg {

/// Processors this process may use: the affinity mask, cut by the CPU quota of the control group (v1 or v2). At
/// least 1. OMP_NUM_THREADS is not consulted: Spark sets it to a task's share without being asked.
int available_processors();

}  // namespace thalweg
