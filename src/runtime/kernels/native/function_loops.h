// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/kernels/simd/elementwise.h"

namespace thalweg {

/// The vector loop of one of the functions in src/ops/unary.cc; null for those that have none.
const simd::Function* unary_loop(const std::string& op);

/// The loop of an arithmetic op of two values (ops/binary.h); null for other ops.
const simd::BinaryFunction* binary_loop(const std::string& op);

}  // namespace thalweg
