// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

constexpr auto kLiveInterval = std::chrono::milliseconds(100);
constexpr auto kLineInterval = std::chrono::seconds(5);

size_t terminal_width(std::FILE* out) {
  constexpr size_t kUsual = 80;
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

std::string clock_text(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(total / 3600),
                  static_cast<int>(total / 60 % 60), static_cast<int>(total % 60));
  } else {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(total / 60), static_cast<int>(total % 60));
  }
  return text;
}

StatusLine::StatusLine(std::FILE* out, bool terminal)
    : out_(out), terminal_(terminal), next_(terminal ? Clock::time_point() : Clock::now() + kLineInterval) {}

size_t StatusLine::width() const { return terminal_ ? terminal_width(out_) - 1 : std::string::npos; }

void StatusLine::update(const std::string& text) {
  next_ = Clock::now() + (terminal_ ? Clock::duration(kLiveInterval) : Clock::duration(kLineInterval));
  if (!terminal_) {
    line(text);
    return;
  }
  redraw(text);
}

void StatusLine::redraw(const std::string& text) {
  const std::string shown = text.substr(0, width());
  const std::string blank(live_width_ > shown.size() ? live_width_ - shown.size() : 0, ' ');
  std::fprintf(out_, "\r%s%s", shown.c_str(), blank.c_str());
  std::fflush(out_);
  live_width_ = shown.size();
}

void StatusLine::line(const std::string& text) {
  const std::string blank(live_width_ > text.size() ? live_width_ - text.size() : 0, ' ');
  std::fprintf(out_, "%s%s%s\n", live_width_ > 0 ? "\r" : "", text.c_str(), blank.c_str());
  std::fflush(out_);
  live_width_ = 0;
}

void StatusLine::erase() {
  if (live_width_ == 0) return;
  std::fprintf(out_, "\r%s\r", std::string(live_width_, ' ').c_str());
  std::fflush(out_);
  live_width_ = 0;
}

}  // namespace thalweg
