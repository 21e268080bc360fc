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
    if (failed()) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

bool ExchangeThread::wait_for(size_t tasks) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return failed() || done_ >= tasks; });
  return !failed();
}

comm::Status ExchangeThread::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
  done_ = 0;
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::exchange(status_, {});
}

comm::Status ExchangeThread::carry_out(const std::function<comm::Status()>& task, std::exception_ptr& error) {
  try {
    return task();
  } catch (...) {
    error = std::current_exception();
    // A text that needs no memory of its own, of which there may be none left.
    communicator_.abort("worker failed");
    return {};
  }
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
    std::exception_ptr error;
    comm::Status status = carry_out(task, error);
    lock.lock();
    busy_ = false;
    ++done_;
    status_ = std::move(status);
    error_ = std::move(error);
    if (failed()) tasks_.clear();
    changed_.notify_all();
  }
}

}  // namespace thalweg::sync
