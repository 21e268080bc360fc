// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/launch_console.h"

namespace thalweg::cli {

template <typename Print>
void LaunchConsole::print_above(const Print& print) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool live = status_.is_live();
  status_.erase();
  print();
  if (live) status_.redraw(live_);
}

void LaunchConsole::print_lines(int worker, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  print_above([&] {
    for (const std::string& line : lines) std::fprintf(lines_out_, "[%d] %s\n", worker, line.c_str());
    std::fflush(lines_out_);
  });
}

void LaunchConsole::say(const std::string& text) {
  print_above([&] { std::fprintf(stderr, "thalweg: launch: %s\n", text.c_str()); });
}

void LaunchConsole::show(const std::string& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (progress == live_ || !status_.due()) return;
  live_ = progress;
  status_.update(progress);
}

void LaunchConsole::end(const std::string& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  status_.line(progress);
}

}  // namespace thalweg::cli
