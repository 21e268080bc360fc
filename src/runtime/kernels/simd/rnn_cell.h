// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

// One step of one sequence, `n` hidden units. `gates` comes in as the product with the input and goes out as what the
// gates let through; `hid` is the product with the hidden state. In both, gates are `stride` floats apart.

/// Gates i, f, g, o. `c` is the cell before and after.
TW_SIMD_FUNCTION(lstm_cell, (float* gates, const float* hid, float* c, float* h, int64_t n, int64_t stride),
                 (gates, hid, c, h, n, stride));
/// Gates r, z, n. `inner` receives the hidden part of n with its bias (or null for none); `h` is the state before and
/// after.
TW_SIMD_FUNCTION(gru_cell,
                 (float* gates, const float* hid, const float* bias, float* inner, float* h, int64_t n, int64_t stride),
                 (gates, hid, bias, inner, h, n, stride));
TW_SIMD_FUNCTION(rnn_cell, (float* gates, const float* hid, float* h, int64_t n, bool relu), (gates, hid, h, n, relu));

// Backward: `dh` comes in as the gradient of the state after the step and goes out as what reaches the state before it
// past the product; `dgates` is the gradient of both products but for GRU's n, which has `dhid` apart.

TW_SIMD_FUNCTION(lstm_cell_grad,
                 (const float* gates, const float* c, const float* c_before, const float* dh, float* dc, float* dgates,
                  int64_t n),
                 (gates, c, c_before, dh, dc, dgates, n));
TW_SIMD_FUNCTION(gru_cell_grad,
                 (const float* gates, const float* inner, const float* h_before, float* dh, float* dgates, float* dhid,
                  int64_t n),
                 (gates, inner, h_before, dh, dgates, dhid, n));
TW_SIMD_FUNCTION(rnn_cell_grad, (const float* gates, const float* dh, float* dgates, int64_t n, bool relu),
                 (gates, dh, dgates, n, relu));

}  // namespace thalweg::simd
