// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace thalweg::cli {

/// A small process that outlives this one by a moment: if this program ends without having ended the process groups
/// that it keeps, be it by SIGKILL, the keeper kills them. The system itself would end direct children only, and not
/// what a shell among them has started.
class ProcessKeeper {
 public:
  /// A fork of this program: to be made before there are other threads. Throws Error if it cannot be.
  ProcessKeeper();
  ProcessKeeper(const ProcessKeeper&) = delete;
  ProcessKeeper& operator=(const ProcessKeeper&) = delete;
  ~ProcessKeeper();

  /// Also in a child that has just been forked, in which little else may be called.
  void keep(pid_t group) const;
  void release(pid_t group) const;

 private:
  pid_t pid_ = -1;
  int orders_ = -1;
};

}  // namespace thalweg::cli
