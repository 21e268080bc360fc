// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/tensor.h"

namespace thalweg {

// Loops over arrays of half-width numbers, with the widest vectors that the CPU has. Results are those of the
// conversions of BF16 and F16, bit by bit.

void narrow(const float* from, BF16* to, size_t count);
void narrow(const float* from, F16* to, size_t count);
void widen(const BF16* from, float* to, size_t count);
void widen(const F16* from, float* to, size_t count);
/// out = left + right, computed in f32 and rounded. `out` may be one of the others.
void add(BF16* out, const BF16* left, const BF16* right, size_t count);
void add(F16* out, const F16* left, const F16* right, size_t count);

}  // namespace thalweg
