// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/losses.h"

namespace thalweg::losses {

/// Throws unless the two shapes agree wherever both are known.
void require_same_shape(const char* loss, const Value* prediction, const Value* target);

/// The losses of single elements or samples, reduced as asked, in f32 or wider.
Value* reduce(Value* losses, Reduction reduction);

/// max(0, x).
Value* positive_part(Value* x);

}  // namespace thalweg::losses
