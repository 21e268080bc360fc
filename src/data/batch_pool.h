// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "thalweg/data/dataset.h"

namespace thalweg::data {

/// Batches whose memory comes back when the last copy of their tensors is gone, to be used for a later one: without it
/// every batch would touch fresh pages. Held by shared pointer, since batches may outlive their loader.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  /// Keeps the memory of at most `keep` batches that nobody uses.
  BatchPool(const Dataset& dataset, int64_t max_rows, size_t keep)
      : dataset_(dataset), max_rows_(max_rows), keep_(keep) {}

  /// `rows` is at most `max_rows`. The dataset must still be there.
  Batch take(int64_t rows);

 private:
  void give_back(Batch storage);

  const Dataset& dataset_;
  const int64_t max_rows_;
  const size_t keep_;
  std::mutex mutex_;
  std::vector<Batch> unused_;
};

}  // namespace thalweg::data
