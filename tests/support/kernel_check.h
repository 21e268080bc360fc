// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/kernel.h"

namespace thalweg::testing {

/// Runs one candidate kernel of a node on inputs that lie in the given layouts (as a producer would leave them), and
/// gives its outputs back row-major. Undefined tensors stand for absent inputs.
std::vector<Tensor> run_kernel(const Node& node, const std::string& candidate, const std::vector<Layout>& layouts,
                               const std::vector<Tensor>& inputs, int threads = 2, uint64_t step = 0);

/// A node whose activations [N, C, H, W] come in each of the layouts nChw16c, nChw8c, NHWC and row-major: the native
/// kernel must take them as they are, and agree with the reference kernel. C must be a multiple of 16.
void check_layouts(const std::string& op, const std::vector<TensorType>& inputs, const Attributes& attrs,
                   double tolerance);

}  // namespace thalweg::testing
