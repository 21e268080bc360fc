// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// How tests wait. What must happen is waited for with one generous patience, so that a test fails because something is
// broken and never because the machine is busy: tests/tools/check_patience.py finds waits that are shorter.

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

namespace thalweg::testing {

/// How long a test waits for what must happen: 60 s, times the number in the environment variable
/// THALWEG_TEST_PATIENCE.
inline std::chrono::milliseconds patience() {
  static const std::chrono::milliseconds scaled = [] {
    const char* text = std::getenv("THALWEG_TEST_PATIENCE");
    const double factor = text != nullptr ? std::strtod(text, nullptr) : 1.0;
    if (!(factor > 0 && factor <= 1000)) throw std::runtime_error("THALWEG_TEST_PATIENCE must be a factor up to 1000");
    return std::chrono::milliseconds(static_cast<int64_t>(60'000 * factor));
  }();
  return scaled;
}

/// Returns true as soon as `holds`, and false if it has not come true within the patience.
inline bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + patience();
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return holds();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// Returns true as soon as the future has its value or error, and false if it has none within the patience.
template <typename Future>
bool comes(const Future& future) {
  return future.wait_for(patience()) == std::future_status::ready;
}

/// For what must be quicker than a time limit that the test itself has set, which a busy machine may spoil: returns
/// true as soon as an attempt does, and false if several in a row do not. What is broken spoils each of them.
inline bool in_some_attempt(const std::function<bool()>& attempt) {
  constexpr int kAttempts = 5;
  for (int i = 0; i < kAttempts; ++i) {
    if (attempt()) return true;
  }
  return false;
}

/// Reads until the other end is closed, and throws with what has come if that takes several times the patience, or if
/// nothing comes for as long as it. A terminal whose last process has gone is an error to read from, which counts as
/// closed.
inline std::string read_to_end(int descriptor) {
  std::string text;
  char piece[4096];
  for (const auto end = std::chrono::steady_clock::now() + 4 * patience();;) {
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error("the other end never closes; it wrote: " + text);
    pollfd polled{descriptor, POLLIN, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(patience().count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw std::runtime_error("the other end neither writes nor closes; it wrote: " + text);
    const ssize_t count = ::read(descriptor, piece, sizeof piece);
    if (count <= 0) return text;
    text.append(piece, static_cast<size_t>(count));
  }
}

}  // namespace thalweg::testing
