// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/fused_activation.h"

#include "ops/ids.h"

namespace thalweg {

const std::vector<std::string>& fusible_activations() {
  static const std::vector<std::string> all{op::kRelu, op::kClip,     op::kLeakyRelu, op::kElu,
                                            op::kGelu, op::kGeluTanh, op::kSilu,      op::kMish,
                                            op::kTanh, op::kSigmoid,  op::kHardSwish, op::kHardSigmoid};
  return all;
}

std::vector<AttributeDef> fused_activation_attributes() {
  std::vector<std::string> choices{""};
  choices.insert(choices.end(), fusible_activations().begin(), fusible_activations().end());
  return {attr::text("activation", "", "applied to the result").one_of(std::move(choices)),
          attr::real("alpha", 0.0, "the activation's first attribute"),
          attr::real("beta", 0.0, "the activation's second attribute"),
          attr::real("scale", 1.0, "the result is multiplied by it after the activation"),
          attr::real("shift", 0.0, "added to the result at last")};
}

UnaryCallee fused_activation(const Attributes& attrs) {
  const std::string name = attrs.text("activation");
  if (name.empty()) return {};
  return {find_unary(name), attrs.real("alpha"), attrs.real("beta")};
}

FusedAffine fused_affine(const Attributes& attrs) { return {attrs.real("scale", 1.0), attrs.real("shift", 0.0)}; }

double finished(const UnaryCallee& activation, const FusedAffine& affine, double sum) {
  if (activation.function != nullptr) sum = activation.function->value(sum, activation.a, activation.b);
  return sum * affine.scale + affine.shift;
}

void fuse_activation(Graph& graph, Node* product, const Node& activation) {
  const UnaryCallee callee = callee_of(activation);
  graph.set_attribute(product, "activation", callee.function->name);
  if (callee.a != 0.0) graph.set_attribute(product, "alpha", callee.a);
  if (callee.b != 0.0) graph.set_attribute(product, "beta", callee.b);
}

}  // namespace thalweg
