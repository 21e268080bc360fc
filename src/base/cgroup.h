// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace thalweg {

/// What the control groups that a process is in, and those around them, leave it.
struct CgroupLimits {
  /// 1 or 2; 0 if there are none.
  int version = 0;
  /// Processors' worth of time; 0: no limit.
  double processors = 0;
  /// 0: no limit.
  int64_t memory_bytes = 0;
};

/// `root` is where the control groups are mounted, `membership` the file that says which of them the process is in. In
/// a container that file may name groups which are not to be seen from inside; then the root's limits are the
/// process's.
CgroupLimits cgroup_limits(const std::string& root = "/sys/fs/cgroup",
                           const std::string& membership = "/proc/self/cgroup");

}  // namespace thalweg
