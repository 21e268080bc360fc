// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/kernel.h"
#include "tensor/dtype.h"

namespace thalweg {

/// For kernels over row-major memory of numbers that the processor computes with (`dispatch_arithmetic`): says why a
/// node whose elements are `dtype` is not for them, and returns true; or returns false.
inline bool declines_plain(const Node& node, DType dtype, std::string& declined) {
  if (has_empty_operand(node)) declined = "an operand is empty";
  if (dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kBool)
    declined = std::string("element type ") + name_of(dtype);
  return !declined.empty();
}

/// A kernel of that body, named after the op, with row-major operands.
inline std::unique_ptr<FunctionKernel> plain_kernel(const Node& node,
                                                    std::function<void(const KernelArguments&)> body) {
  auto kernel = std::make_unique<FunctionKernel>(std::move(body));
  kernel->name = "native " + node.op_name();
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  return kernel;
}

}  // namespace thalweg
