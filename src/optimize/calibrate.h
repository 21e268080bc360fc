// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optimize/edited_graph.h"
#include "thalweg/optimize.h"

namespace thalweg {

struct Range {
  double low = 0.0;
  double high = 0.0;
};

/// Counts of values over [low, high] in bins of equal width.
class Histogram {
 public:
  Histogram(Range range, size_t bins) : range_(range), counts_(bins, 0) {}
  void add(const float* values, int64_t count);
  const std::vector<uint64_t>& counts() const { return counts_; }
  const Range& range() const { return range_; }

 private:
  Range range_;
  std::vector<uint64_t> counts_;
};

/// The part of a histogram's range that is worth encoding in 8 bits.
Range percentile_range(const Histogram& histogram, double share_cut);
Range entropy_range(const Histogram& histogram);

/// The range of each of the values of the model over the data. Throws if a value is not a finite float.
std::map<std::string, Range> calibrate(const EditedGraph& model, const std::vector<std::string>& values,
                                       const OptimizeOptions& options);

}  // namespace thalweg
