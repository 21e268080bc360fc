// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <map>
#include <span>
#include <vector>

#include "runtime/aligned_buffer.h"
#include "train/scheme.h"

namespace thalweg::sync {

/// The rows of a sparse gradient.
struct SparseRows {
  size_t variable = 0;
  int64_t row_size = 1;
  /// That the table has.
  int64_t table_rows = 0;
  std::vector<int64_t> indices;
  std::vector<float> rows;
};

/// Elements of a parameter that follow each other, and where their gradients lie in the buckets.
struct Piece {
  size_t variable = 0;
  size_t begin = 0;
  std::span<float> gradient;
};

/// A step's gradients, weighted, in pieces that are exchanged one by one. Copies of dense ones that follow each other
/// lie side by side in buckets; all workers have the same buckets in the same order.
class GradientBuckets {
 public:
  static constexpr size_t kNeverInPlace = std::numeric_limits<size_t>::max();

  /// A bucket ends with the gradient that takes it to `bucket_bytes` or beyond. A gradient of at least `in_place_bytes`
  /// is a bucket by itself and stays where it is, if that memory is its own: then it must not be used for anything else
  /// before the next step.
  GradientBuckets(const std::vector<TrainedVariable>& trained, size_t bucket_bytes,
                  size_t in_place_bytes = kNeverInPlace);

  /// Forgets the gradients of the last step.
  void begin_step();
  void add(const GradientView& gradient, double weight);
  /// The buckets that are complete and follow those taken before, to be exchanged. With `rest` all that are left, zero
  /// where no gradient has come.
  std::vector<std::span<float>> take_complete(bool rest);
  /// All of them, in order.
  std::vector<std::span<float>> all() const;
  /// What part `index` of every bucket consists of, each being cut into `parts` (comm::part_of).
  std::vector<Piece> pieces(int parts, int index) const;
  std::vector<SparseRows>& sparse() { return sparse_; }
  const std::vector<SparseRows>& sparse() const { return sparse_; }
  /// Of all gradients, where they lie.
  std::vector<GradientView> views() const;
  std::vector<GradientView> sparse_views() const;

 private:
  struct Item {
    size_t variable = 0;
    size_t bucket = 0;
    /// Where the gradient of the step is; null before it has come if it stays in place.
    float* data = nullptr;
    size_t floats = 0;
    bool in_place = false;
    bool filled = false;
    /// For one that should stay in place but cannot.
    AlignedBuffer copy;
  };
  struct Bucket {
    std::span<float> values;
    size_t missing = 0;
    size_t items = 0;
  };

  /// Of an item that has no gradient in place to stay with.
  void use_copy(Item& item);

  AlignedBuffer memory_;
  std::vector<Item> items_;
  std::vector<Bucket> buckets_;
  std::vector<SparseRows> sparse_;
  /// Place of each variable among the items, or among the sparse ones.
  std::map<size_t, size_t> place_;
  size_t taken_ = 0;
};

}  // namespace thalweg::sync
