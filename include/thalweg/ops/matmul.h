// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

/// numpy.matmul with leading dimensions broadcast; either side may be read transposed in its last two dimensions.
Value* matmul(Value* a, Value* b, bool transpose_a = false, bool transpose_b = false, const std::string& name = "");

/// x [..., I] by weight [O, I] plus bias [O] (or null): [..., O]. `activation`: "", "relu", "gelu", "gelu_tanh",
/// "tanh", "sigmoid".
Value* linear(Value* x, Value* weight, Value* bias = nullptr, const std::string& activation = "",
              const std::string& name = "");

/// softmax(q k^T * scale + mask) v for q [B, H, T, D], k and v [B, H, S, D]. `mask` (or null) is added to the scores
/// and broadcasts to [B, H, T, S]. scale 0: 1/sqrt(D). `causal`: position t sees keys up to t + S - T.
Value* attention(Value* q, Value* k, Value* v, Value* mask = nullptr, double scale = 0.0, bool causal = false,
                 const std::string& name = "");

}  // namespace thalweg::ops
