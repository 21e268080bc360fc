// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg::testing {

/// How a process ended.
struct ProcessResult {
  /// -1 if a signal ended it.
  int exit_code = -1;
  std::string out;
  std::string error;
};

/// Runs a program to its end. `environment` holds "NAME=value" beside what this process has. Throws if it takes longer
/// than two minutes.
ProcessResult run_process(const std::string& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment = {});

}  // namespace thalweg::testing
