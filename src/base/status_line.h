// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace thalweg {

/// How far some work is, for a person: on a terminal one line that is rewritten in place, elsewhere (a log, a pipe)
/// whole lines now and then and nothing but text.
class StatusLine {
 public:
  StatusLine(std::FILE* out, bool terminal);

  /// As many characters as an update can show.
  size_t width() const;
  /// False while the last update is so recent that another one would only cost time.
  bool due() const { return Clock::now() >= next_; }
  void update(const std::string& text);
  /// A line that stays, in place of what was shown.
  void line(const std::string& text);
  /// True while the terminal shows an update that no line has followed.
  bool is_live() const { return live_width_ > 0; }
  /// Takes away what is_live.
  void erase();
  /// Shows again on a terminal what was erased. It is no news: the next update is due as soon as it was without this.
  void redraw(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* out_;
  bool terminal_;
  size_t live_width_ = 0;
  Clock::time_point next_;
};

/// 3725.2 -> "1:02:05".
std::string clock_text(double seconds);

}  // namespace thalweg
