// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "optimize/edited_graph.h"

namespace thalweg {

/// A node that can multiply integers: a convolution, or a product with a matrix of weights on the right.
struct Layer {
  /// The name of the value that it makes.
  std::string output;
  /// For people.
  std::string label;
};
std::vector<Layer> quantizable_layers(const EditedGraph& model);

bool is_layer(const EditedGraph& model, const Node& node);
bool is_matrix_product(const EditedGraph& model, const Node& node);

}  // namespace thalweg
