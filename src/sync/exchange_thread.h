// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "thalweg/comm.h"

namespace thalweg::sync {

/// Carries out communication, one piece after the other, while the thread that trains computes. After a failure the
/// rest is left out until `wait` has reported it.
class ExchangeThread {
 public:
  ExchangeThread() : thread_([this] { work(); }) {}
  /// Leaves out what has not begun.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  void post(std::function<comm::Status()> task);
  /// Until everything posted is done. The communication itself has a deadline.
  comm::Status wait();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<comm::Status()>> tasks_;
  bool busy_ = false;
  bool stop_ = false;
  comm::Status status_;
  std::thread thread_;
};

}  // namespace thalweg::sync
