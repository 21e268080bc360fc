// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/tensor.h"

namespace thalweg {

/// The error above which Winograd's method is not used.
constexpr double kWinogradErrorLimit = 1e-4;

/// The error of Winograd's method with tiles of m x m against direct sums in double precision, for these weights
/// [O, I, 3, 3] and a random input: the largest over the output channels (up to one panel of them, spread evenly),
/// each relative to its largest output. Infinite where a result is not finite.
double winograd_error(const Tensor& weights, int m);

}  // namespace thalweg
