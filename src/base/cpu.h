// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thalweg {

/// True if products of bf16 numbers have instructions of their own (AVX512_BF16, and AMX, which no CPU has without it).
bool cpu_computes_in_bf16();

}  // namespace thalweg
