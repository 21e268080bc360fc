// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

namespace thalweg::data {

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
