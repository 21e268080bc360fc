// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <string>

#include "base/status_line.h"

namespace thalweg::cli {

/// How far a command is, on stderr; says nothing if not `shown`. The line goes when the work ends.
class Progress {
 public:
  Progress(bool shown, std::string what)
      : shown_(shown), what_(std::move(what)), status_(stderr, ::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { status_.erase(); }

  /// `all` is 0 if nobody knows it.
  void update(double done, double all);

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  std::string what_;
  StatusLine status_;
  Clock::time_point begin_ = Clock::now();
};

/// "images [######    ]  60%  600/1000  0:12 left".
std::string progress_text(const std::string& what, double done, double all, double seconds);

}  // namespace thalweg::cli
