// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::data {

/// What to do with the samples at the end of an epoch that do not fill a batch.
enum class LastBatch {
  kKeep,  ///< a smaller batch
  kDrop   ///< left out; another order in the next epoch leaves out others
};

/// The part of every batch that one of several workers takes: rows are dealt out in nearly equal, adjacent parts. What
/// a batch is does not depend on the number of workers, so they may come and go between two batches, and none of its
/// samples is lost or taken twice.
struct Share {
  int part = 0;
  int parts = 1;
  /// If not 0, the samples of all workers together, of which each has its own, `own_samples` of them, and takes its
  /// part of every batch from those. 0: every worker has all samples.
  int64_t total = 0;
};

/// How many samples worker `share.part` must have if each has its own: what its parts of the batches add up to.
int64_t own_samples(const Share& share, int64_t batch_size);

struct SamplerOptions {
  int64_t batch_size = 32;
  bool shuffle = true;
  uint64_t seed = 0;
  LastBatch last_batch = LastBatch::kKeep;
  /// 0: an epoch's order is any. Otherwise a sample moves up by less than this many places (and down by any number, but
  /// rarely by more): each comes at random from a window that slides over the samples in their own order. Keeps reads
  /// of large files close together.
  int64_t shuffle_window = 0;
  Share share = {};
};

/// Batches already handed out; enough to go on from there.
struct SamplerPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
  bool operator==(const SamplerPosition&) const = default;
};

/// Cuts the sample numbers [0, size) into batches, epoch after epoch without end. The order of an epoch depends on the
/// seed and the epoch's number alone (and the worker's, if each has its own samples), the same on every machine.
class BatchSampler {
 public:
  /// `size` is that of the dataset which the numbers are for.
  BatchSampler(int64_t size, const SamplerOptions& options);

  /// This worker's share of the next batch of sample numbers, valid until the next call. It may be empty if a last
  /// batch has fewer samples than there are workers.
  std::span<const int64_t> next();
  /// Samples in the batch that `next` will return a share of.
  int64_t batch_samples() const;
  /// Of the batch that `next` will return.
  SamplerPosition position() const { return position_; }
  void seek(SamplerPosition position);
  int64_t batches_per_epoch() const;
  const SamplerOptions& options() const { return options_; }

 private:
  void arrange();

  /// The samples that batches consist of, and those of this worker's dataset.
  int64_t size_;
  int64_t local_;
  SamplerOptions options_;
  SamplerPosition position_;
  int64_t arranged_epoch_ = -1;
  std::vector<int64_t> order_;
};

}  // namespace thalweg::data
