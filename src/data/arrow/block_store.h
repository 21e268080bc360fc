// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "data/arrow/block.h"

namespace thalweg::data {

/// Blocks by number, loaded when first asked for and, on threads, the few after it as well. The last ones used stay, up
/// to a budget. Every block is loaded once at a time, however many threads ask for it.
class BlockStore {
 public:
  using Load = std::function<BlockPtr(size_t number)>;
  /// `load` is called from several threads at once; `ahead` is the number of blocks that may be on their way together.
  BlockStore(size_t count, size_t ahead, int64_t memory_bytes, Load load);
  ~BlockStore();

  /// Throws what loading threw.
  BlockPtr get(size_t number);

 private:
  using Future = std::shared_future<BlockPtr>;
  void start(size_t number);
  void touch(size_t number);
  void make_room(size_t keep);

  const size_t count_, ahead_;
  const int64_t memory_bytes_;
  const Load load_;
  std::mutex mutex_;
  std::map<size_t, Future> blocks_;
  std::list<size_t> recently_used_;  ///< last used first
};

}  // namespace thalweg::data
