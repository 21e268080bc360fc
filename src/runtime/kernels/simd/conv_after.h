// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace thalweg::simd {

/// What happens to an output of a convolution before it is stored; null where absent.
struct ConvAfter {
  const float* bias;      ///< [blocks * lanes]
  const float* residual;  ///< lies as the output does
  bool bounded;           ///< by `low` and `high`
  float low, high;
  /// Past the caches: for outputs too large for them to be there still when they are read.
  bool stream;

  /// The same for outputs from `channel` on whose first one lies `offset` floats after the whole output's.
  ConvAfter at(int64_t channel, int64_t offset) const {
    ConvAfter part = *this;
    if (bias != nullptr) part.bias += channel;
    if (residual != nullptr) part.residual += offset;
    return part;
  }
};

}  // namespace thalweg::simd
