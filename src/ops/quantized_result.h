// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/op_registry.h"
#include "thalweg/ops/quantize.h"

namespace thalweg {

inline bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

/// To and from the attributes x_zero, low, high, factor, zero and dtype of a node.
void write_result(const ops::QuantizedResult& result, Attributes& attrs);
ops::QuantizedResult read_result(const Attributes& attrs);

}  // namespace thalweg
