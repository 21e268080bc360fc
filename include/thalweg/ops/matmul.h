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

/// The same for q, k and v that come out of one projection, with no head moved in memory: qkv [B, T, 3*H*D] holds q,
/// then k, then v of every head at each position; gives [B, T, H*D].
Value* self_attention(Value* qkv, int64_t heads, Value* mask = nullptr, double scale = 0.0, bool causal = false,
                      const std::string& name = "");

/// As `attention` for q [B, T, H, D], k and v [B, S, H, D]; gives [B, T, H, D].
Value* attention_by_time(Value* q, Value* k, Value* v, Value* mask = nullptr, double scale = 0.0, bool causal = false,
                         const std::string& name = "");

}  // namespace thalweg::ops
