// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/simd/optimizer_loops.h"

namespace thalweg::optim {

/// Brings the gradients of the same row together. Keeps its buffers from step to step.
class RowCoalescer {
 public:
  /// The result points into this object and into `row_gradients`, until the next call.
  /// `parameter` names the table in the error about a row outside of [0, num_rows).
  simd::RowList coalesce(const std::string& parameter, std::span<const int64_t> rows, int64_t num_rows,
                         int64_t row_size, std::span<const float> row_gradients);

 private:
  struct Entry {
    int64_t row;
    int64_t position;
  };

  void sort_by_row(int64_t num_rows);
  void find_distinct();
  void prepare_gradients(int64_t row_size, std::span<const float> row_gradients);

  std::vector<Entry> entries_, scratch_;
  std::vector<int64_t> distinct_, first_, order_;
  std::vector<const float*> ready_;
  std::vector<float> sums_;
};

}  // namespace thalweg::optim
