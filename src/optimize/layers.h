// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "optimize/model_editor.h"

namespace thalweg {

/// A node that can multiply integers: a convolution, or a product with a matrix of weights on the right.
struct Layer {
  /// The value that it makes, which no other node does.
  std::string output;
  /// For people.
  std::string label;
};
std::vector<Layer> quantizable_layers(const ModelEditor& model);

bool is_layer(const ModelEditor& model, const onnx::NodeProto& node);
bool is_matrix_product(const ModelEditor& model, const onnx::NodeProto& node);
/// True for those operators of the default domain.
bool is_one_of(const onnx::NodeProto& node, std::initializer_list<const char*> ops);

}  // namespace thalweg
