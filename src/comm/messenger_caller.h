// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/messenger.h"

namespace thalweg::comm {

/// A caller's hold on the messenger. Its threads step back while one wants it.
class Messenger::Caller {
 public:
  explicit Caller(Messenger& messenger) : messenger_(messenger), lock_(messenger.mutex_, std::defer_lock) { hold(); }

  void hold() {
    messenger_.callers_.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
    messenger_.callers_.fetch_sub(1, std::memory_order_relaxed);
  }
  void let_go() { lock_.unlock(); }
  /// Waits for news.
  void wait(std::chrono::nanoseconds longest) { messenger_.changed_.wait_for(lock_, longest); }

 private:
  Messenger& messenger_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace thalweg::comm
