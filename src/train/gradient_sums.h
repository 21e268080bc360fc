// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "runtime/program.h"

namespace thalweg {

/// Sum of squares of a gradient's elements. Rows that repeat in a sparse one are added up first, as the update does.
double norm_squared(const GradientView& view, int64_t row_size);

/// Gradients added up over several batches, each in the layout of its variable; sparse ones stay sparse.
class GradientSums {
 public:
  void add(const GradientView& view, int64_t row_size, double weight);
  /// Ends a batch of the given weight.
  void count(double weight) {
    total_weight_ += weight;
    ++batches_;
  }
  int batches() const { return batches_; }
  double total_weight() const { return total_weight_; }
  /// Of all sums, in the order of variables; valid until the next change.
  std::vector<GradientView> views();
  void clear();

 private:
  struct Sum {
    std::vector<float> dense;
    std::vector<int64_t> indices;
    std::vector<float> rows;
  };
  std::map<size_t, Sum> sums_;
  double total_weight_ = 0;
  int batches_ = 0;
};

}  // namespace thalweg
