// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/processors.h"

#include <sched.h>

#include "thalweg/comm.h"

namespace thalweg::cli {

std::vector<int> usable_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> all;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return all;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<size_t>(i), &mask)) all.push_back(i);
  }
  return all;
}

std::vector<std::vector<int>> deal_processors(const std::vector<int>& all, int workers) {
  std::vector<std::vector<int>> result(static_cast<size_t>(workers));
  if (all.empty()) return result;
  const bool enough = all.size() >= result.size();
  for (size_t i = 0; i < result.size(); ++i) {
    if (!enough) {
      // A thread for each: more would only wait for each other's turn.
      result[i] = {all[i % all.size()]};
      continue;
    }
    const comm::Part part = comm::part_of(all.size(), workers, static_cast<int>(i));
    result[i].assign(all.begin() + static_cast<int64_t>(part.begin), all.begin() + static_cast<int64_t>(part.end));
  }
  return result;
}

}  // namespace thalweg::cli
