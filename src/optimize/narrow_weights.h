// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/model_editor.h"

namespace thalweg {

/// Stores the weights of convolutions, products and lookups in bf16 or f16, with a Cast to f32 behind each. Throws if
/// a weight is too large for f16. For bf16 the opset must be at least kOptimizedOpset.
void narrow_weights(ModelEditor& model, DType dtype);

}  // namespace thalweg
