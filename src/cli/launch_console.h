// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "base/status_line.h"

namespace thalweg::cli {

/// What a launcher prints: lines of workers and of its own, and below them, on a terminal, one that is rewritten in
/// place and that no other is mixed with. Printing waits for whoever reads, a pager for one; so all but `note` is for
/// one thread.
class LaunchConsole {
 public:
  LaunchConsole() = default;
  LaunchConsole(const LaunchConsole&) = delete;
  LaunchConsole& operator=(const LaunchConsole&) = delete;
  ~LaunchConsole() { print_notes(); }

  /// Lines of workers go to stdout until told otherwise.
  void send_lines_to(std::FILE* out) { lines_out_ = out; }
  void print_lines(int worker, const std::vector<std::string>& lines);
  /// A line of the launcher's own, on stderr.
  void say(const std::string& text);
  /// The same from any thread, without a wait: it is printed before what is printed next, or by `print_notes`.
  void note(const std::string& text);
  void print_notes();
  /// How wide the progress may be.
  size_t progress_width() const { return status_.width(); }
  /// Shows the progress if it is time for that.
  void show(const std::string& progress);
  /// The last word on the progress, as a line that stays.
  void end(const std::string& progress);

 private:
  /// What is live goes while `print` runs, and comes back below what that has printed.
  template <typename Print>
  void print_above(const Print& print);
  void print_own(const std::string& text);

  std::FILE* lines_out_ = stdout;
  StatusLine status_{stderr, ::isatty(STDERR_FILENO) == 1};
  std::string live_;
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

}  // namespace thalweg::cli
