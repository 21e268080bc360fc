// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/comm.h"

namespace thalweg::comm {

/// out[i] = left[i] op right[i] for every element type but bool, for which it throws. `out` may be either input.
void reduce_elements(DType dtype, ReduceOp op, void* out, const void* left, const void* right, size_t count);

}  // namespace thalweg::comm
