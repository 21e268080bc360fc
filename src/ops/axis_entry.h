// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace thalweg {

/// One source position that a target position is computed from (see AxisMap).
struct AxisEntry {
  int32_t index;  ///< source position
  int32_t tap;    ///< number of the element within the window
  double weight;  ///< 1/divisor of an average, or the coefficient of an interpolation
};

}  // namespace thalweg
