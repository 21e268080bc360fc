// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "data/arrow/block.h"

namespace thalweg::data {

/// Blocks by number, loaded when first asked for and, on threads, the few after it as well. The last ones used stay, up
/// to a budget. Every block is loaded once at a time, however many threads ask for it.
class BlockStore {
 public:
  /// Called from several threads at once. It owns all that it uses: a call that hangs may return when the store is
  /// gone.
  using Load = std::function<BlockPtr(size_t number)>;
  struct Options {
    size_t count = 0;
    /// Blocks that may be on their way together.
    size_t ahead = 1;
    int64_t memory_bytes = 0;
    /// How long `get` waits for a block before it fails, and the store's end for those on their way.
    std::chrono::seconds patience{600};
    /// For errors.
    std::string name = {};
  };
  BlockStore(Options options, Load load);
  ~BlockStore();
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  /// Throws what loading threw.
  BlockPtr get(size_t number);

 private:
  class Impl;
  /// Shared with the threads that load.
  std::shared_ptr<Impl> impl_;
};

}  // namespace thalweg::data
