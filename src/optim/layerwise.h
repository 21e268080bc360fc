// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/kernels/simd/optimizer_loops.h"

namespace thalweg::optim {

/// Norms that a layer-wise rule compares. With sparse rows they are over the rows of this step
/// only.
struct NormPair {
  double value = 0.0;
  double other = 0.0;
};

/// Calls fill(value_squares, other_squares) with zeroed arrays of num_blocks(target) and adds each
/// up in order.
template <typename Fill>
NormPair measure_norms(const simd::UpdateTarget& target, const Fill& fill) {
  const auto blocks = static_cast<size_t>(simd::num_blocks(target));
  std::vector<double> value_squares(blocks, 0.0);
  std::vector<double> other_squares(blocks, 0.0);
  fill(value_squares.data(), other_squares.data());
  return {std::sqrt(std::accumulate(value_squares.begin(), value_squares.end(), 0.0)),
          std::sqrt(std::accumulate(other_squares.begin(), other_squares.end(), 0.0))};
}

}  // namespace thalweg::optim
