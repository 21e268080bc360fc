// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/exchange_thread.h"

#include <utility>

namespace thalweg::sync {

ExchangeThread::~ExchangeThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.clear();
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ExchangeThread::post(std::function<comm::Status()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!status_.ok()) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

comm::Status ExchangeThread::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
  return std::exchange(status_, {});
}

void ExchangeThread::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    const std::function<comm::Status()> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    comm::Status status = task();
    lock.lock();
    busy_ = false;
    if (!status) {
      status_ = std::move(status);
      tasks_.clear();
    }
    changed_.notify_all();
  }
}

}  // namespace thalweg::sync
