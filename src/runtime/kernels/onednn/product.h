// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/layout.h"

namespace thalweg {

/// A product of two f32 matrices by oneDNN, for kernels that are more than one primitive.
class Product {
 public:
  /// A row-major matrix, read as it lies or transposed.
  struct Side {
    int64_t rows, columns;
    bool transposed = false;
  };
  Product() = default;
  /// Sides as they lie in memory; `bias`: a row that is added to every row of the result.
  Product(const Side& left, const Side& right, bool bias = false);
  size_t scratch_bytes() const { return scratch_.get_size(); }
  void run(const float* left, const float* right, const float* bias, float* result, void* scratch) const;

 private:
  dnnl::memory::desc left_, right_, bias_, result_, scratch_;
  dnnl::matmul primitive_;
};

}  // namespace thalweg
