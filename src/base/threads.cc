// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace thalweg {
namespace {

/// CPUs' worth of time per period that the control group allows; 0 if unlimited.
double cgroup_quota() {
  double quota = 0;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2) {
    std::string limit;
    v2 >> limit >> period;
    if (limit == "max" || period <= 0) return 0;
    return std::strtod(limit.c_str(), nullptr) / period;
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return 0;
  return quota / period;
}

}  // namespace

int available_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int count = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) count = std::max(1, CPU_COUNT(&mask));
  const double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, std::max(1, static_cast<int>(std::ceil(quota))));
  return count;
}

}  // namespace thalweg
