// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/patience.h"
#include "support/temporary_directory.h"

namespace thalweg::testing {

inline bool is_running(pid_t pid) {
  const std::string stat = read_bytes("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

/// The end of a process shows in /proc some time after the signal that ends it.
inline bool have_ended(const std::vector<pid_t>& pids) {
  return eventually([&] { return std::none_of(pids.begin(), pids.end(), is_running); });
}

}  // namespace thalweg::testing
