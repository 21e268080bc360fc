// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/temporary_directory.h"

namespace thalweg::testing {

/// How a process ended.
struct ProcessResult {
  /// -1 if a signal ended it.
  int exit_code = -1;
  std::string out;
  std::string error;
};

/// A program that runs beside this one. It is killed, at the latest, when the object goes.
class RunningProcess {
 public:
  /// `environment` holds "NAME=value" beside what this process has.
  RunningProcess(const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {});
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  ~RunningProcess();

  void signal(int number) const;
  /// What it has written so far.
  std::string out() const { return read_bytes(folder_ / "out"); }
  std::string error() const { return read_bytes(folder_ / "error"); }
  /// Until it has ended. Throws, with what it wrote, if it takes longer than several times the patience of a test.
  ProcessResult wait();

 private:
  const TemporaryDirectory folder_;
  pid_t pid_ = -1;
};

/// Runs a program to its end, as RunningProcess::wait does.
ProcessResult run_process(const std::string& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment = {});

}  // namespace thalweg::testing
