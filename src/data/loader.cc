// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <algorithm>
#include <chrono>

namespace thalweg::data {

Loader::Loader(const Dataset& dataset, const BatchSampler& sampler, int depth, int64_t max_batches)
    : dataset_(dataset), sampler_(sampler), depth_(static_cast<size_t>(std::max(depth, 1))), remaining_(max_batches) {
  thread_ = std::thread([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  emptied_.notify_all();
  thread_.join();
}

Loader::Item Loader::fetch_one() {
  Item item;
  try {
    item.loaded.position = sampler_.position();
    item.loaded.batch = dataset_.fetch(sampler_.next());
    item.loaded.last_of_epoch = sampler_.position().epoch != item.loaded.position.epoch;
  } catch (...) {
    item.failure = std::current_exception();
  }
  return item;
}

void Loader::work() {
  bool failed = false;
  while (!failed && remaining_ != 0) {
    Item item = fetch_one();
    if (remaining_ > 0) --remaining_;
    failed = item.failure != nullptr;
    std::unique_lock<std::mutex> lock(mutex_);
    emptied_.wait(lock, [&] { return stop_ || queue_.size() < depth_; });
    if (stop_) return;
    queue_.push_back(std::move(item));
    filled_.notify_one();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  finished_ = true;
  filled_.notify_one();
}

bool Loader::next(LoadedBatch& result) {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  filled_.wait(lock, [&] { return finished_ || !queue_.empty(); });
  if (queue_.empty()) return false;
  if (queue_.front().failure != nullptr) std::rethrow_exception(queue_.front().failure);
  result = std::move(queue_.front().loaded);
  queue_.pop_front();
  emptied_.notify_one();
  result.wait_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return true;
}

}  // namespace thalweg::data
