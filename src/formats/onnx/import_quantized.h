// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/import_common.h"

namespace thalweg::onnx {

/// The numbers in f32 that integers stand for, with one scale and zero (null: 0) or one for each place along `axis`.
Value* real_numbers(const NodeContext& context, Value* x, Value* scale, Value* zero, int64_t axis = 0);

/// Integers of `dtype` that stand for numbers, with one scale and zero (null: 0).
Value* quantized_numbers(const NodeContext& context, Value* real, Value* scale, Value* zero, DType dtype);

}  // namespace thalweg::onnx
