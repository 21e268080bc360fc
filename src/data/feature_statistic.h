// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "thalweg/data/features.h"

namespace thalweg::data {

/// What a feature learns of rows, gathered in parts that may lie on different machines.
class FeatureStatistic {
 public:
  virtual ~FeatureStatistic() = default;
  /// Takes in some rows, as they are before the feature.
  virtual void see(const std::vector<Column>& columns) = 0;
  /// What was seen, for another of the same feature to merge.
  virtual nlohmann::json state() const = 0;
  virtual void merge(const nlohmann::json& state) = 0;
  /// Writes what was learned into the feature. Throws if nothing was seen and that does not do.
  virtual void teach(Feature& feature) const = 0;
};

/// Null if the feature has nothing to learn.
std::unique_ptr<FeatureStatistic> statistic_for(const Feature& feature);

/// How often each value occurs: exactly, up to some number of different ones; of more, neighbours are put together, so
/// that the ranks of what `at` finds are off by at most a few hundred-thousandths of all.
class ValueCounts {
 public:
  void add(double value, int64_t count = 1);
  int64_t total() const { return total_; }
  /// The value at this part of all, 0.5 for the median; the mean of the two in the middle where there are two. At least
  /// one must have been added.
  double at(double part) const;
  /// The one seen most; of several the smallest.
  double most_frequent() const;
  nlohmann::json state() const;
  void merge(const nlohmann::json& state);

 private:
  void put_neighbours_together();
  double ranked(int64_t rank) const;

  std::map<double, int64_t> counts_;
  int64_t total_ = 0;
};

}  // namespace thalweg::data
