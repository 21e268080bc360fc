// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/elementwise.h"

namespace thalweg::simd {

/// What happens to an output of a convolution before it is stored; null where absent.
struct ConvAfter {
  const float* bias;      ///< [blocks * lanes]
  const float* residual;  ///< lies as the output does
  const float* slope;     ///< [blocks * lanes], of what is below 0
  bool bounded;           ///< by `low` and `high`
  float low, high;
  bool activated;  ///< by `function`, with the arguments `alpha` and `beta`
  Function function;
  float alpha, beta;
  bool scaled;  ///< by `scale`, with `shift` added, at last
  float scale, shift;
  /// Past the caches: for outputs too large for them to be there still when they are read.
  bool stream;

  /// True for what is done to outputs that were stored, while they are in the first cache.
  bool goes_over_stored() const { return activated || scaled || slope != nullptr; }

  /// The same for outputs from `channel` on whose first one lies `offset` floats after the whole output's.
  ConvAfter at(int64_t channel, int64_t offset) const {
    ConvAfter part = *this;
    if (bias != nullptr) part.bias += channel;
    if (residual != nullptr) part.residual += offset;
    if (slope != nullptr) part.slope += channel;
    return part;
  }
};

}  // namespace thalweg::simd
