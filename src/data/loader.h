// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "thalweg/data.h"

namespace thalweg::data {

struct LoadedBatch {
  Batch batch;
  /// Where this batch stands; `last_of_epoch` if the next one belongs to another epoch.
  SamplerPosition position;
  bool last_of_epoch = false;
  /// Time the caller had to wait for it.
  double wait_seconds = 0;
};

/// Fetches batches ahead of their use on a thread of its own, at most `depth` of them, in the sampler's order. Whatever
/// the dataset throws comes out of `next` at the batch it concerns. The dataset must outlive the loader.
class Loader {
 public:
  /// Stops after `max_batches` (never if negative).
  Loader(const Dataset& dataset, const BatchSampler& sampler, int depth, int64_t max_batches = -1);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// False after `max_batches`.
  bool next(LoadedBatch& result);

 private:
  struct Item {
    LoadedBatch loaded;
    std::exception_ptr failure;
  };
  void work();
  Item fetch_one();

  const Dataset& dataset_;
  BatchSampler sampler_;
  const size_t depth_;
  int64_t remaining_;

  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<Item> queue_;
  bool stop_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace thalweg::data
