// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "thalweg/comm/channel.h"

namespace thalweg::comm {

/// Counts payload, from any thread, for itself and for what it is part of: a channel or a subgroup for its
/// communicator.
class TrafficCounter {
 public:
  explicit TrafficCounter(std::shared_ptr<TrafficCounter> whole = nullptr) : whole_(std::move(whole)) {}

  void sent(uint64_t bytes, uint64_t messages = 1) {
    sent_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    sent_messages_.fetch_add(messages, std::memory_order_relaxed);
    if (whole_ != nullptr) whole_->sent(bytes, messages);
  }
  void received(uint64_t bytes, uint64_t messages = 1) {
    received_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    received_messages_.fetch_add(messages, std::memory_order_relaxed);
    if (whole_ != nullptr) whole_->received(bytes, messages);
  }
  Traffic total() const {
    return {sent_bytes_.load(std::memory_order_relaxed), received_bytes_.load(std::memory_order_relaxed),
            sent_messages_.load(std::memory_order_relaxed), received_messages_.load(std::memory_order_relaxed)};
  }

 private:
  std::shared_ptr<TrafficCounter> whole_;
  std::atomic<uint64_t> sent_bytes_{0}, received_bytes_{0}, sent_messages_{0}, received_messages_{0};
};

}  // namespace thalweg::comm
