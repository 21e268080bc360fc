// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "thalweg/tensor.h"

namespace thalweg::bench {

/// The mean cross entropy of scores [N, classes] with labels [N].
inline double mean_cross_entropy(const Tensor& scores, const Tensor& labels) {
  const int64_t rows = scores.shape()[0], classes = scores.shape()[1];
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = scores.data<float>() + row * classes;
    const double highest = *std::max_element(x, x + classes);
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) total += std::exp(x[c] - highest);
    sum += std::log(total) + highest - x[labels.data<int64_t>()[row]];
  }
  return sum / static_cast<double>(rows);
}

}  // namespace thalweg::bench
