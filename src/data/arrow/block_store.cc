// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/block_store.h"

#include <algorithm>
#include <chrono>

namespace thalweg::data {
namespace {

bool is_ready(const std::shared_future<BlockPtr>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

BlockStore::BlockStore(size_t count, size_t ahead, int64_t memory_bytes, Load load)
    : count_(count), ahead_(std::max<size_t>(ahead, 1)), memory_bytes_(memory_bytes), load_(std::move(load)) {}

BlockStore::~BlockStore() {
  for (const auto& [number, future] : blocks_) future.wait();
}

void BlockStore::start(size_t number) {
  if (number >= count_ || blocks_.contains(number)) return;
  blocks_[number] = std::async(std::launch::async, load_, number).share();
  recently_used_.push_back(number);
}

void BlockStore::touch(size_t number) {
  recently_used_.remove(number);
  recently_used_.push_front(number);
}

/// Drops the blocks that were not used for longest until the rest fits. Those on their way are not counted and stay.
void BlockStore::make_room(size_t keep) {
  int64_t used = 0;
  for (auto it = recently_used_.begin(); it != recently_used_.end();) {
    const Future& future = blocks_.at(*it);
    int64_t bytes = 0;
    if (is_ready(future)) {
      try {
        bytes = future.get()->bytes();
      } catch (...) {
        bytes = memory_bytes_ + 1;  // failed: another try next time
      }
    }
    used += bytes;
    if (used > memory_bytes_ && *it != keep && bytes > 0) {
      used -= bytes;
      blocks_.erase(*it);
      it = recently_used_.erase(it);
    } else {
      ++it;
    }
  }
}

BlockPtr BlockStore::get(size_t number) {
  Future wanted;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    start(number);
    touch(number);
    wanted = blocks_.at(number);
    size_t on_their_way = 0;
    for (const auto& [other, future] : blocks_) on_their_way += is_ready(future) ? 0 : 1;
    for (size_t next = number + 1; next <= number + ahead_ && on_their_way < ahead_; ++next) {
      const size_t before = blocks_.size();
      start(next);
      on_their_way += blocks_.size() - before;
    }
    make_room(number);
  }
  return wanted.get();
}

}  // namespace thalweg::data
