// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "thalweg/comm.h"

namespace thalweg::sync {

/// Carries out communication, one piece after the other, while the thread that trains computes. After a failure the
/// rest is left out until `wait` has reported it.
class ExchangeThread {
 public:
  /// The tasks use this communicator: it is aborted if one of them throws.
  explicit ExchangeThread(comm::Communicator& communicator)
      : communicator_(communicator), thread_([this] { work(); }) {}
  /// Leaves out what has not begun.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  void post(std::function<comm::Status()> task);
  /// Until so many of the tasks posted since the last `wait` are done; false if one has failed.
  bool wait_for(size_t tasks);
  /// Until everything posted is done. Throws what a task has thrown. The communication itself has a deadline.
  comm::Status wait();

 private:
  bool failed() const { return !status_.ok() || error_ != nullptr; }
  void work();
  /// Runs it without the lock; its exception ends up in `error`.
  comm::Status carry_out(const std::function<comm::Status()>& task, std::exception_ptr& error);

  comm::Communicator& communicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<comm::Status()>> tasks_;
  /// Since the last `wait`.
  size_t done_ = 0;
  bool busy_ = false;
  bool stop_ = false;
  comm::Status status_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace thalweg::sync
