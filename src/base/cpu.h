// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg {

/// As the CPU calls itself, "unknown" if the system does not say.
std::string cpu_model();

/// Those of the instruction sets that matter here which CPU and system both offer, as "avx512_bf16".
std::vector<std::string> cpu_features();

/// True if products of bf16 numbers have instructions of their own (AVX512_BF16, and AMX, which no CPU has without it).
bool cpu_computes_in_bf16();

/// True if products of 8-bit integers are summed in 32 bits by one instruction (VNNI, and AMX).
bool cpu_has_int8_products();

}  // namespace thalweg
