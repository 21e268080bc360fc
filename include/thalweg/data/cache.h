// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/data/views.h"

namespace thalweg::data {

/// How much of what was read once is kept for the epochs that follow. What fits nowhere is read again each time:
/// samples come in another order every epoch, so to replace what is kept would only lose it.
struct CacheOptions {
  int64_t memory_bytes = 0;
  /// Of a file without a name in `directory`, which vanishes with the cache; used once the memory is full. A process
  /// that is forked goes on with a file of its own, so each may use as much.
  int64_t disk_bytes = 0;
  std::string directory = {};
};

struct CacheStatus {
  int64_t in_memory = 0, on_disk = 0;  ///< entries
  int64_t memory_bytes = 0, disk_bytes = 0;
  int64_t hits = 0, misses = 0;
  /// Why nothing more goes to the disk, if writing failed; that is no error, what is not kept is read again.
  std::string disk_failure;
};

/// Bytes by number, from any thread.
class SampleCache {
 public:
  /// For the numbers [0, size). Throws Error if the directory cannot be written to.
  SampleCache(int64_t size, const CacheOptions& options);
  ~SampleCache();

  /// Replaces `bytes` and returns true if it is kept.
  bool get(int64_t number, std::vector<uint8_t>& bytes) const;
  /// Keeps it if there is room and it is not kept yet.
  void put(int64_t number, std::span<const uint8_t> bytes);
  CacheStatus status() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Keeps the samples of another dataset as they came out the first time. Random transforms would come out the same in
/// every epoch: for images use ImageFolderOptions::cache, which keeps what is before the transforms. Of a Mix, cache
/// the sources: what it holds under a number changes with the epoch.
class Cached : public Dataset {
 public:
  Cached(DatasetPtr source, const CacheOptions& options);

  int64_t size() const override { return source_->size(); }
  std::vector<TensorType> input_types() const override { return source_->input_types(); }
  std::vector<TensorType> target_types() const override { return source_->target_types(); }
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  bool is_costly() const override { return source_->is_costly(); }
  CacheStatus cache_status() const { return cache_->status(); }
  const DatasetPtr& source() const { return source_; }

 private:
  DatasetPtr source_;
  std::shared_ptr<SampleCache> cache_;
};

}  // namespace thalweg::data
