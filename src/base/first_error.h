// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>

namespace thalweg {

/// What threads throw, for the one that waits for them: an exception that leaves a thread's function would end the
/// process.
class FirstError {
 public:
  /// Runs `body`, and keeps what it throws unless something was thrown before.
  template <typename Body>
  void guard(const Body& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!any_.exchange(true)) error_ = std::current_exception();
    }
  }
  /// Something was thrown. From any thread.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  /// After the threads have ended: throws it, if something was.
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> any_{false};
  std::exception_ptr error_;
};

}  // namespace thalweg
