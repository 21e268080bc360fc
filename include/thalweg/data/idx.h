// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thalweg/data/dataset.h"

namespace thalweg::data {

/// Reads an IDX file (the format of the MNIST digits) of any element type that a Tensor can hold. Throws Error naming
/// the file and the fault if it is not such a file, was cut short, or has bytes too many.
Tensor read_idx(const std::string& path);

inline constexpr int64_t kMnistClasses = 10;

/// The four MNIST files in `directory`: images as f32 [N, 1, 28, 28], scaled to mean 0 and deviation 1, labels as i64.
struct Mnist {
  TensorDataset train;
  TensorDataset test;
};
Mnist read_mnist(const std::string& directory);

}  // namespace thalweg::data
