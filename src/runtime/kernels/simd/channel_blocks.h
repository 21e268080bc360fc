// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

// Convolutions of this folder take activations in channel blocks as wide as a vector,
// [N][blocks][height][width][lanes], and compute a panel of several blocks of output channels at a time.

/// Floats of a vector: channels of a block.
inline int block_lanes(Isa isa) { return isa == Isa::kAvx512 ? 16 : isa == Isa::kAvx2 ? 8 : 4; }
/// Vectors of a panel: as many columns of a product are computed at once.
inline int panel_vectors(Isa isa) { return isa == Isa::kAvx512 ? 4 : 2; }

}  // namespace thalweg::simd
