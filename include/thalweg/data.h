// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

/// Where training data comes from.
namespace thalweg::data {

/// What one step reads: row i of every tensor belongs to sample i.
struct Batch {
  std::vector<Tensor> inputs;
  std::vector<Tensor> targets;
  /// Rows, 0 if there is no tensor.
  int64_t size() const;
};

/// Samples that can be asked for by number. A loader calls `fetch` from its own thread, one call at a time; evaluation
/// and training may read the same dataset at once, so `fetch` must not change what another call reads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Types of a batch, with kFree as the outermost dimension.
  virtual std::vector<TensorType> input_types() const = 0;
  virtual std::vector<TensorType> target_types() const = 0;
  /// The samples of these numbers, in this order. Throws Error naming the sample that cannot be read.
  virtual Batch fetch(std::span<const int64_t> indices) const = 0;
};

/// Samples that lie in memory: row i of every tensor is sample i. The tensors are shared, not copied.
class TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> inputs, std::vector<Tensor> targets = {});

  int64_t size() const override { return size_; }
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  Batch fetch(std::span<const int64_t> indices) const override;

 private:
  std::vector<Tensor> inputs_;
  std::vector<Tensor> targets_;
  int64_t size_ = 0;
};

/// What to do with the samples at the end of an epoch that do not fill a batch.
enum class LastBatch {
  kKeep,  ///< a smaller batch
  kDrop   ///< left out; another order in the next epoch leaves out others
};

struct SamplerOptions {
  int64_t batch_size = 32;
  bool shuffle = true;
  uint64_t seed = 0;
  LastBatch last_batch = LastBatch::kKeep;
};

/// Batches already handed out; enough to go on from there.
struct SamplerPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
  bool operator==(const SamplerPosition&) const = default;
};

/// Cuts the sample numbers [0, size) into batches, epoch after epoch without end. The order of an epoch depends on the
/// seed and the epoch's number alone, the same on every machine.
class BatchSampler {
 public:
  BatchSampler(int64_t size, const SamplerOptions& options);

  /// The next batch of sample numbers, valid until the next call.
  std::span<const int64_t> next();
  /// Of the batch that `next` will return.
  SamplerPosition position() const { return position_; }
  void seek(SamplerPosition position);
  int64_t batches_per_epoch() const;
  const SamplerOptions& options() const { return options_; }

 private:
  void arrange();

  int64_t size_;
  SamplerOptions options_;
  SamplerPosition position_;
  int64_t arranged_epoch_ = -1;
  std::vector<int64_t> order_;
};

/// Reads an IDX file (the format of the MNIST digits) of any element type that a Tensor can hold. Throws Error naming
/// the file and the fault if it is not such a file, was cut short, or has bytes too many.
Tensor read_idx(const std::string& path);

/// The four MNIST files in `directory`: images as f32 [N, 1, 28, 28], scaled to mean 0 and deviation 1, labels as i64.
struct Mnist {
  TensorDataset train;
  TensorDataset test;
};
Mnist read_mnist(const std::string& directory);

}  // namespace thalweg::data
