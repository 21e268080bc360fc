// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Scores of one query become probabilities: softmax(scores * scale + mask) over the first `visible` of `n` keys, zero
/// beyond. `mask` may be null. `log_sum` receives the logarithm of the sum of exponentials.
TW_SIMD_FUNCTION(attention_softmax,
                 (float* scores, const float* mask, float scale, int64_t visible, int64_t n, float* log_sum),
                 (scores, mask, scale, visible, n, log_sum));
/// The same probabilities again, from a known `log_sum`.
TW_SIMD_FUNCTION(attention_probabilities,
                 (float* scores, const float* mask, float scale, int64_t visible, int64_t n, float log_sum),
                 (scores, mask, scale, visible, n, log_sum));
/// dp = p * (dp - delta) * scale.
TW_SIMD_FUNCTION(attention_dscores, (const float* p, float* dp, float delta, float scale, int64_t n),
                 (p, dp, delta, scale, n));
TW_SIMD_FUNCTION(dot_product, (const float* x, const float* y, int64_t n, float* result), (x, y, n, result));

}  // namespace thalweg::simd
