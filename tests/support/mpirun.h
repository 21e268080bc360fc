// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/process.h"

namespace thalweg::testing {

/// Runs a command as so many processes of an MPI job on this machine, however few processors it has.
inline ProcessResult mpirun(const std::string& program, int processes, const std::vector<std::string>& command,
                            const std::vector<std::string>& options = {}) {
  std::vector<std::string> arguments = {"-n", std::to_string(processes), "--oversubscribe", "--bind-to", "none"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), command.begin(), command.end());
  // Containers have no other user, and may forbid reading other processes' memory, which MPI only saves a copy by.
  return run_process(program, arguments,
                     {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                      "OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMP_NUM_THREADS=1"});
}

}  // namespace thalweg::testing
