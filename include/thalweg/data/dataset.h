// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/error.h"
#include "thalweg/tensor.h"

namespace thalweg::data {

/// A sample cannot be read, such as an image whose file is damaged: others can, and a Loader may leave this one out
/// (LoaderOptions::bad).
class SampleError : public Error {
 public:
  using Error::Error;
};

/// What one step reads: row i of every tensor belongs to sample i.
struct Batch {
  std::vector<Tensor> inputs;
  std::vector<Tensor> targets;
  /// Rows, 0 if there is no tensor.
  int64_t size() const;
};

/// What decides, together with a sample's number, how random transforms come out: nothing else does, neither the batch
/// that a sample is in nor the thread that reads it.
struct Draw {
  uint64_t seed = 0;
  int64_t epoch = 0;
};

/// Samples that can be asked for by number.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Types of a batch, with kFree as the outermost dimension and no other.
  virtual std::vector<TensorType> input_types() const = 0;
  virtual std::vector<TensorType> target_types() const = 0;
  /// Writes the samples of these numbers, in this order, to rows [row, row + indices.size()) of `batch`, whose tensors
  /// have the dataset's types. Several threads call it at once, also for rows of one batch, so it must not change what
  /// another call reads. Throws Error naming the sample (file, row) that cannot be read.
  virtual void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const = 0;
  /// The samples of these numbers, in this order, where they lie in memory: to be looked at, not to be changed. Nothing
  /// if they do not lie so; then `read` is the way. From any thread.
  virtual std::optional<Batch> lend(std::span<const int64_t> /*indices*/) const { return {}; }
  /// True if one sample is work enough for a task of its own, as an image is; else a loader reads a batch in one call.
  virtual bool is_costly() const { return false; }
  /// True if to read a sample is to copy memory, so that all samples can be looked at before they are used.
  virtual bool is_in_memory() const { return false; }
  /// The highest class number among the targets, if that is known without reading samples.
  virtual std::optional<int64_t> highest_class() const { return {}; }

  /// A batch of so many rows with nothing in it.
  Batch allocate(int64_t rows) const;
  /// A new batch of the samples of these numbers, in this order.
  Batch fetch(std::span<const int64_t> indices, const Draw& draw = {}) const;
};

/// Samples that lie in memory: row i of every tensor is sample i. The tensors are shared, not copied.
class TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> inputs, std::vector<Tensor> targets = {});

  int64_t size() const override { return size_; }
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  bool is_in_memory() const override { return true; }

 private:
  std::vector<Tensor> inputs_;
  std::vector<Tensor> targets_;
  int64_t size_ = 0;
};

}  // namespace thalweg::data
