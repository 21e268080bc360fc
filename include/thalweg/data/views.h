// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "thalweg/data/dataset.h"

namespace thalweg::data {

using DatasetPtr = std::shared_ptr<const Dataset>;

/// A dataset whose samples are those of others under other numbers. All sources must have the same types.
class View : public Dataset {
 public:
  std::vector<TensorType> input_types() const override { return sources_.front()->input_types(); }
  std::vector<TensorType> target_types() const override { return sources_.front()->target_types(); }
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  bool is_costly() const override;
  bool is_in_memory() const override;
  const std::vector<DatasetPtr>& sources() const { return sources_; }

 protected:
  struct Location {
    size_t source;
    int64_t index;
    /// What the source is told as Draw::epoch.
    int64_t epoch;
  };
  View(const char* what, std::vector<DatasetPtr> sources);
  /// `index` lies in [0, size()).
  virtual Location locate(int64_t index, int64_t epoch) const = 0;

 private:
  const char* what_;
  std::vector<DatasetPtr> sources_;
};

/// The samples of each source in turn.
class Concat : public View {
 public:
  explicit Concat(std::vector<DatasetPtr> sources);
  int64_t size() const override { return ends_.back(); }

 protected:
  Location locate(int64_t index, int64_t epoch) const override;

 private:
  std::vector<int64_t> ends_;
};

/// Samples chosen by number; a number may occur more than once.
class Subset : public View {
 public:
  Subset(DatasetPtr source, std::vector<int64_t> indices);
  /// The first `count` samples, or all if there are fewer.
  static Subset first(DatasetPtr source, int64_t count);
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }

 protected:
  Location locate(int64_t index, int64_t epoch) const override {
    return {0, indices_[static_cast<size_t>(index)], epoch};
  }

 private:
  std::vector<int64_t> indices_;
};

/// What workers do whose shards would differ in size by one sample; schemes that keep step need the same number each.
enum class UnevenShards {
  kKeep,  ///< sizes differ
  kDrop,  ///< the last few samples belong to nobody
  kPad    ///< the last few shards get one of the first samples a second time
};

/// The share of worker `rank` of `world`: samples rank, rank + world, rank + 2 world, ...
class Shard : public View {
 public:
  Shard(DatasetPtr source, int64_t rank, int64_t world, UnevenShards uneven = UnevenShards::kKeep);
  int64_t size() const override { return size_; }

 protected:
  Location locate(int64_t index, int64_t epoch) const override;

 private:
  int64_t rank_, world_, size_;
};

/// `size` samples in every epoch, from source i as many as weights[i] is of all weights: parts of a sample are carried
/// on to the next epoch. Each source hands out its samples in random order, and where an epoch ends the next one goes
/// on; only after the last sample it begins again, in another order and with other random transforms. Which is which
/// depends on `seed` and the epoch only. Rows of tables come from everywhere: let them fit into memory.
class Mix : public View {
 public:
  Mix(std::vector<DatasetPtr> sources, const std::vector<double>& weights, int64_t size, uint64_t seed = 0);
  ~Mix() override;
  int64_t size() const override;
  /// What one epoch holds is not all.
  bool is_in_memory() const override { return false; }

 protected:
  Location locate(int64_t index, int64_t epoch) const override;

 private:
  class Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace thalweg::data
