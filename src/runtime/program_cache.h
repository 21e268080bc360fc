// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/program.h"

namespace thalweg {

/// Memory for runs, of programs of which few run at a time: a model's for several shapes of its inputs. Thread-safe.
class ArenaPool {
 public:
  /// At least so many bytes of any content.
  AlignedBuffer take(size_t bytes);
  void give_back(AlignedBuffer memory);

 private:
  std::mutex mutex_;
  std::vector<AlignedBuffer> idle_;
};

/// A program and the sessions that wait for work on it.
class SessionPool {
 public:
  /// Sessions have memory only while they are taken if they share `arenas` with others; null: each has its own.
  explicit SessionPool(std::shared_ptr<Program> program, std::shared_ptr<ArenaPool> arenas = nullptr)
      : program_(std::move(program)), arenas_(std::move(arenas)) {}

  const std::shared_ptr<Program>& program() const { return program_; }
  /// Runs in an idle session, or in a new one.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// An idle session, or a new one, for a caller that gives it back when its run is over.
  std::unique_ptr<Session> take();
  void give_back(std::unique_ptr<Session> session);

 private:
  std::unique_ptr<Session> idle_session();

  std::shared_ptr<Program> program_;
  std::shared_ptr<ArenaPool> arenas_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
};

/// Programs by input types, the most recently used first; thread-safe. A pool that is thrown out lives on until the
/// runs in it end.
class ProgramCache {
 public:
  explicit ProgramCache(size_t capacity) : capacity_(capacity) {}

  /// Null if there is none.
  std::shared_ptr<SessionPool> find(const std::vector<TensorType>& key);
  void insert(const std::vector<TensorType>& key, std::shared_ptr<SessionPool> pool);
  void clear() { reset(capacity()); }
  /// Empties the cache, which from then on holds `capacity` programs.
  void reset(size_t capacity);
  size_t capacity() const;
  size_t size() const;

 private:
  struct Entry {
    std::vector<TensorType> key;
    std::shared_ptr<SessionPool> pool;
  };
  mutable std::mutex mutex_;
  size_t capacity_;
  std::list<Entry> entries_;
};

std::vector<TensorType> types_of(std::span<const Tensor> tensors);

}  // namespace thalweg
