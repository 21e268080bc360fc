// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::cli {

class ProcessKeeper;

/// How to start a worker.
struct WorkerCommand {
  std::vector<std::string> arguments;
  /// Added to this program's own environment.
  std::map<std::string, std::string> environment;
  /// The processors it may use; empty: all that this program may.
  std::vector<int> processors;
  /// How many files it may have open; none: as many as this program.
  std::optional<rlimit> open_files;
  /// Told of the worker's group before the worker itself begins, so that no moment is left in which this program could
  /// be killed and the worker's own children live on; null: nobody.
  const ProcessKeeper* keeper = nullptr;
};

/// A program that runs as a child, in a process group of its own. What it prints, on both streams, comes out of one
/// pipe, line by line. It ends with this object, and with this program however that ends; so does, but for the latter
/// (ProcessKeeper), whatever it has started and left in its group.
class WorkerProcess {
 public:
  /// Throws Error naming the program if it cannot be started.
  explicit WorkerProcess(const WorkerCommand& command);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  /// To poll for output; -1 once the program has closed it.
  int output() const { return output_; }
  /// Whole lines that have come, of some 64 KiB at most; with `rest` also one without its end.
  std::vector<std::string> lines(bool rest = false);
  /// True if it has ended; `status` is then what waitpid says, and what it left in its group is killed.
  bool ended(int& status);
  /// To its whole group.
  void signal(int number) const;
  /// Also the number of its group; -1 after it has ended.
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string buffer_;
};

/// "ended with status 3" or "was killed by signal 9 (Killed)".
std::string describe_status(int status);

}  // namespace thalweg::cli
