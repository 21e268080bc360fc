// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/simd/batch_norm.h"

namespace thalweg::simd {

/// Adds to sum[c] that of each channel.
TW_SIMD_FUNCTION(channel_sums, (const ChannelRows& piece, const void* x, double* sum), (piece, x, sum));

}  // namespace thalweg::simd
