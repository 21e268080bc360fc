// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "graph/attribute_def.h"
#include "ops/unary.h"

namespace thalweg {

/// The functions that a product (conv, linear) may apply to its sums before it stores them.
const std::vector<std::string>& fusible_activations();

/// The attributes of such a product: "activation", and "alpha" and "beta", the function's own two attributes; "scale"
/// and "shift", by which the result is multiplied, and which is added to it, at last.
std::vector<AttributeDef> fused_activation_attributes();

/// What the attributes say; no function where there is no activation.
UnaryCallee fused_activation(const Attributes& attrs);

/// What comes after the activation.
struct FusedAffine {
  double scale = 1.0, shift = 0.0;
  bool present() const { return scale != 1.0 || shift != 0.0; }
};
FusedAffine fused_affine(const Attributes& attrs);
/// For the plain form: activation and affine map of one number.
double finished(const UnaryCallee& activation, const FusedAffine& affine, double sum);

/// Gives a product the function that `activation`, a node with one input, applies.
void fuse_activation(Graph& graph, Node* product, const Node& activation);

}  // namespace thalweg
