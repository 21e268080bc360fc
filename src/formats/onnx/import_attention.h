// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/import_common.h"

namespace thalweg::onnx {

/// [B, T, heads * D] as [B, heads, T, D]; what has four dimensions already stays.
Value* by_head(const NodeContext& context, Value* x, int64_t heads);
/// Each head of keys or values for `times` heads of queries.
Value* repeat_heads(Value* x, int64_t times);

/// Turns pairs among the first `width` features of x, [B, T, H, D], by angles whose cosines and sines, [B or 1, T,
/// half], are given. Pairs lie side by side if `interleaved`, otherwise half of the width apart.
Value* turned(Value* x, Value* cosine, Value* sine, bool interleaved, int64_t width);

}  // namespace thalweg::onnx
