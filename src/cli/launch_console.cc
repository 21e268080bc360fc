// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/launch_console.h"

#include <utility>

namespace thalweg::cli {
namespace {

/// More are dropped: who reads has stopped to, and strangers may cause any number.
constexpr size_t kMostNotes = 10'000;

}  // namespace

template <typename Print>
void LaunchConsole::print_above(const Print& print) {
  const bool live = status_.is_live();
  status_.erase();
  print();
  if (live) status_.redraw(live_);
}

void LaunchConsole::print_lines(int worker, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  print_notes();
  print_above([&] {
    for (const std::string& line : lines) std::fprintf(lines_out_, "[%d] %s\n", worker, line.c_str());
    std::fflush(lines_out_);
  });
}

void LaunchConsole::print_own(const std::string& text) {
  print_above([&] { std::fprintf(stderr, "thalweg: launch: %s\n", text.c_str()); });
}

void LaunchConsole::say(const std::string& text) {
  print_notes();
  print_own(text);
}

void LaunchConsole::note(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notes_.size() < kMostNotes) notes_.push_back(text);
}

void LaunchConsole::print_notes() {
  std::vector<std::string> notes;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes = std::exchange(notes_, {});
  }
  for (const std::string& text : notes) print_own(text);
}

void LaunchConsole::show(const std::string& progress) {
  if (progress == live_ || !status_.due()) return;
  live_ = progress;
  status_.update(progress);
}

void LaunchConsole::end(const std::string& progress) { status_.line(progress); }

}  // namespace thalweg::cli
