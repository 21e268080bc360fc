// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// Appends the gradients of `loss` (one element) with respect to `targets` to the graph and returns them in the order
/// of `targets`; an entry with neither dense nor rows did not influence the loss. Nothing is computed for branches that
/// lead to no target: frozen parts cost nothing. Sparse gradients are returned only for parameters that are read by
/// embeddings alone, otherwise they are made dense.
std::vector<Gradient> differentiate(Graph& graph, Value* loss, const std::vector<Value*>& targets);

/// An output and the value that is its gradient.
struct SeededOutput {
  Value* output = nullptr;
  Value* gradient = nullptr;
};

/// The same where the loss is computed elsewhere: `outputs` say how it depends on what the graph computes.
std::vector<Gradient> differentiate(Graph& graph, const std::vector<SeededOutput>& outputs,
                                    const std::vector<Value*>& targets);

/// differentiate() for all trainable parameters, left in graph.gradients().
void add_gradients(Graph& graph, Value* loss);

}  // namespace thalweg
