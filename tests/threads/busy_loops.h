// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace thalweg::testing {

/// While it lives, so many threads that want a processor all the time.
class BusyLoops {
 public:
  explicit BusyLoops(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!end_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;
  ~BusyLoops() { end_ = true; }

 private:
  std::atomic<bool> end_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace thalweg::testing
