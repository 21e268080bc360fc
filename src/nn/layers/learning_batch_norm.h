// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thalweg/graph.h"

namespace thalweg::nn {

/// A batch norm whose running statistics, two states of the graph, follow those of the batches: each step they keep all
/// but the share `momentum`. The variance that they take counts n - 1 for n elements, as PyTorch's does.
Value* learning_batch_norm(Value* x, Value* scale, Value* shift, Value* running_mean, Value* running_variance,
                           double epsilon, double momentum, const std::string& name);

}  // namespace thalweg::nn
